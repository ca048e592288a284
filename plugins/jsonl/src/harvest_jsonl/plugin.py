"""The sink that this plugin offers."""

from collections.abc import Iterable

from harvest import SinkSpec, hookimpl

harvest_api = 1

SUFFIXES = tuple(
    name + compression for name in (".jsonl", ".ndjson") for compression in ("", ".gz", ".zst")
)
"""Suffixes of a location that is a single file."""


@hookimpl
def harvest_sinks() -> Iterable[SinkSpec]:
    """Declare the sink ``jsonl``."""
    return [
        SinkSpec(
            name="jsonl",
            doc="JSON Lines: a directory of parts, or one file of events (.jsonl[.gz|.zst])",
            factory="harvest_jsonl.sink:JsonlSink",
            suffixes=SUFFIXES,
        )
    ]
