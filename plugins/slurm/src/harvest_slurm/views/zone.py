"""The time zone whose days, months and years are counted."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import DatasetReader, UsageError


@attrs.frozen
class Zone:
    """A time zone: name; why: where it comes from, in a sentence for readers."""

    name: str
    why: str

    def local(self, time: pl.Expr) -> pl.Expr:
        """Times as this zone's clocks show them."""
        return time.dt.convert_time_zone(self.name)


def zone_of(data: DatasetReader, wanted: str | None) -> Zone:
    """The zone that is asked for, else the one that the dataset was harvested with.

    Where that was more than one, UTC, which favours none.  Raises UsageError for an unknown zone.
    """
    if wanted is not None:
        try:
            ZoneInfo(wanted)
        except (ValueError, OSError, KeyError):
            raise UsageError(
                f"{wanted!r} is not a known time zone", remedy="name one as Europe/Zurich or UTC"
            ) from None
        return Zone(wanted, f"Days and months are those of the zone {wanted}, as asked for.")
    zones = sorted({zone or "UTC" for zone in data.harvested_with("slurm", "timezone")})
    if len(zones) > 1:
        return Zone(
            "UTC",
            f"The jobs were harvested with different time zones ({', '.join(zones)}): days and "
            "months are those of UTC; choose a zone with timezone=ZONE.",
        )
    name = zones[0] if zones else "UTC"
    return Zone(name, f"Days and months are those of the zone {name}, as the jobs were harvested.")
