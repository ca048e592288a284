"""The conformance kit for sinks: what is committed is there, whole, whatever happens.

``SinkConformance`` is tests that an author's class inherits; ``SinkDriver`` takes a sink through a
commit step by step.
"""

from __future__ import annotations

from .commits import CommitPromises
from .driver import SinkDriver
from .rows import RowPromises

__all__ = ["SinkConformance", "SinkDriver"]


class SinkConformance(RowPromises, CommitPromises):
    """What every sink promises, as tests that an author's class inherits.

    The knobs are those of :class:`harvest_testing.sinks.kit.SinkKit`.  A promise that the format
    cannot keep is taken out by a test method of the same name.
    """
