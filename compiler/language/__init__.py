"""The profile language: a name goes in, a typed profile with the origin of every value comes out."""
