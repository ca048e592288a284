"""Tools for testing plugins.

``collect`` runs a source the way the core does, in this process, and gives everything that came
of it.
"""

from .collect import Collected, collect, collect_partition

__all__ = ["Collected", "collect", "collect_partition"]
