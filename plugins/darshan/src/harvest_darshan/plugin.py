"""What this distribution offers to harvest."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import SourceSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source ``darshan``."""
    return [
        SourceSpec(
            name="darshan",
            doc="Darshan I/O logs, 3.0 to 3.5: counters, DXT segments, heat maps, Lustre striping",
            factory="harvest_darshan.source:DarshanSource",
        )
    ]
