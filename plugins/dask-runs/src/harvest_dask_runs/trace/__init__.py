"""The timeline of a run, as a view and as a file for Perfetto."""

from .view import write_trace

__all__ = ["write_trace"]
