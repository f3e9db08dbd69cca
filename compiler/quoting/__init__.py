"""Text on its way into a file and back: encoders for each syntax, and the readers that prove them."""
