"""What this distribution adds to harvest."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import SourceSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source ``gpfs``."""
    return [
        SourceSpec(
            name="gpfs",
            doc="GPFS (IBM Storage Scale) policy lists, plain, .gz or .zst",
            factory="harvest_gpfs.source:GpfsSource",
        )
    ]
