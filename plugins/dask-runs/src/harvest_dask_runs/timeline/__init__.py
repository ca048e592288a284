"""The timeline of a run as one page that zooms and opens without a network."""

from .write import write_timeline

__all__ = ["write_timeline"]
