"""The source that this distribution offers to harvest."""

from harvest import SourceSpec, declare

harvest_sources = declare(
    SourceSpec(
        name="yappi",
        doc="Yappi profiles saved as callgrind or pstat, and printed thread tables",
        factory="harvest_yappi.source:YappiSource",
        record_types=("yappi.call", "yappi.function", "yappi.thread"),
    )
)
