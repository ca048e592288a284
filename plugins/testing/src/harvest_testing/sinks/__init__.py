"""The conformance kit for sinks: committed rows are complete, even after a crash.

An author's test class inherits the tests of ``SinkConformance``. ``SinkDriver`` takes a sink
through a commit step by step.
"""

from .commits import CommitPromises
from .driver import SinkDriver
from .rows import RowPromises

__all__ = ["SinkConformance", "SinkDriver"]


class SinkConformance(RowPromises, CommitPromises):
    """Tests of everything that a sink promises; an author's test class inherits them.

    Its parameters are those of :class:`harvest_testing.sinks.kit.SinkKit`. If the format cannot
    keep a promise, override the test method of that name.
    """
