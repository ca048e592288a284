"""The conformance kit for sources, as one class to derive from."""

from __future__ import annotations

from .hostile import HostilePromises
from .inputs import InputPromises
from .process import ProcessPromises
from .sound import ReadingPromises


class SourceConformance(ReadingPromises, InputPromises, HostilePromises, ProcessPromises):
    """What every source promises, as tests that an author's class inherits.

    The knobs are those of :class:`harvest_testing.source.kit.SourceKit`.  A promise that the
    format cannot keep is taken out by a test method of the same name.
    """
