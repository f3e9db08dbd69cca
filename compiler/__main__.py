"""`python -m compiler` is `poolproof`."""

from compiler.cli import command


if __name__ == "__main__":
    command()
