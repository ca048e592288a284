"""The sink that this plugin offers."""

from harvest import SinkSpec, declare

SUFFIXES = tuple(
    name + compression for name in (".jsonl", ".ndjson") for compression in ("", ".gz", ".zst")
)
"""Suffixes of a location that is a single file."""

harvest_sinks = declare(
    SinkSpec(
        name="jsonl",
        doc="JSON Lines: a directory of parts, or one file of events (.jsonl[.gz|.zst])",
        factory="harvest_jsonl.sink:JsonlSink",
        suffixes=SUFFIXES,
    )
)
