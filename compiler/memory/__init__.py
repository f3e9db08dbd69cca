"""What is true for every engine: bytes a token, weights a rank, and how a need compares with a range."""
