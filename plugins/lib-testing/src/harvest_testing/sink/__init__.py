"""The conformance kit for sinks, as one class to derive from."""

from __future__ import annotations

from .commits import CommitPromises
from .durable import DurablePromises
from .faults import FaultPromises
from .native import NativePromises
from .places import PlacePromises
from .rows import RowPromises
from .upkeep import UpkeepPromises
from .writers import WriterPromises


class SinkConformance(
    RowPromises,
    WriterPromises,
    CommitPromises,
    DurablePromises,
    FaultPromises,
    UpkeepPromises,
    NativePromises,
    PlacePromises,
):
    """What every sink promises, as tests that an author's class inherits.

        class TestBoxes(SinkConformance):
            sink = BoxSink

            def location(self, directory):
                return directory / "out.box"

    The knobs are those of :class:`harvest_testing.sink.kit.SinkKit`.  A promise that the format
    cannot keep is taken out by a test method of the same name.
    """
