"""Profiles as text that people wrote: changed in one place, or laid out anew, with proof that nothing else moved."""
