"""The conformance kit for sinks: committed rows are complete, even after a crash.

An author's test class inherits the tests of ``SinkConformance``. ``SinkDriver`` takes a sink
through a commit step by step.
"""

from .driver import SinkDriver
from .promises import SinkConformance

__all__ = ["SinkConformance", "SinkDriver"]
