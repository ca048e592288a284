"""The command line; ``main`` is the console script ``harvest``."""

from .main import main

__all__ = ["main"]
