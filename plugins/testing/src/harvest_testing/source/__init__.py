"""The conformance kit for sources: one base class for an author's tests."""

from .hostile import HostilePromises
from .inputs import InputPromises
from .process import ProcessPromises
from .sound import ReadingPromises


class SourceConformance(ReadingPromises, InputPromises, HostilePromises, ProcessPromises):
    """Tests of everything that a source promises; an author's test class inherits them.

    Its parameters are those of :class:`harvest_testing.source.kit.SourceKit`. If the format cannot
    keep a promise, override the test method of that name.
    """
