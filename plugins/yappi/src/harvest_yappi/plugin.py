"""The source that this distribution offers to harvest."""

from collections.abc import Iterable

from harvest import SourceSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """Declare the source ``yappi``."""
    return [
        SourceSpec(
            name="yappi",
            doc="Yappi profiles saved as callgrind or pstat, and printed thread tables",
            factory="harvest_yappi.source:YappiSource",
            record_types=("yappi.call", "yappi.function", "yappi.thread"),
        )
    ]
