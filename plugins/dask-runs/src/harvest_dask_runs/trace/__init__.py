"""The events of a run in order of time, as a view and as a file for Perfetto."""

from .view import write_trace

__all__ = ["write_trace"]
