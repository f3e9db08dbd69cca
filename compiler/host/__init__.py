"""On the host: generations, the switch between them, what the server says of itself, and whether it keeps the promise."""
