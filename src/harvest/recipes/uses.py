"""Sources as a run uses them, configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from harvest.api.source import Partition, Source
from harvest.reading.pipes import Pipe


@attrs.frozen(kw_only=True)
class SourceUse:
    """A source of a run.

    settings: the values it was configured with; version: of the plugin's distribution.
    plugin: the distribution or the file that the user named for it; None where none was.
    pipe: that it reads, the source itself reads the file that holds what came through it.
    """

    source: Source
    settings: Mapping[str, Any]
    version: str
    plugin: str | None = None
    pipe: Pipe | None = None


Listed: TypeAlias = "list[tuple[SourceUse, Partition]]"
"""Partitions with the source that reads them."""
