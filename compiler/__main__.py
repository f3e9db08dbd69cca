"""`python -m compiler` is `poolproof`."""

from compiler.cli import main


if __name__ == "__main__":
    main()
