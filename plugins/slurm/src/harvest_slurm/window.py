"""The time window of a live cluster, and the slices in which it is asked."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

import attrs

from harvest import Partition, SourceError
from harvest_accounting.calendar import moment

from .config import SlurmConfig

ORIGIN: Final = "slurm:live"
"""The origin of rows of a live cluster."""

SETTLED: Final = timedelta(days=1)
"""How long a slice can still change after its end: daemons may deliver records late."""


@attrs.frozen
class Window:
    """A time window, cut into slices."""

    since: datetime
    until: datetime
    days: int

    def bounds(self) -> list[tuple[datetime, datetime]]:
        """Return the slices, aligned to multiples of their length so that they stay the same."""
        step, epoch = timedelta(days=self.days), datetime(1970, 1, 1, tzinfo=UTC)
        edges = [self.since]
        while edges[-1] < self.until:
            edges.append(min(epoch + ((edges[-1] - epoch) // step + 1) * step, self.until))
        return list(pairwise(edges))


def window_of(config: SlurmConfig, now: datetime | None = None) -> Window:
    """Return the time window of the settings."""
    zone = ZoneInfo(config.timezone or "UTC")
    since = moment(config.since or "today", zone, now)
    until = moment(config.until or "now", zone, now)
    if since >= until:
        raise SourceError(
            f"the time window is empty: it starts at {since:%Y-%m-%dT%H:%M:%SZ} and ends at "
            f"{until:%Y-%m-%dT%H:%M:%SZ}",
            where=ORIGIN,
            remedy="set slurm.since and slurm.until",
        )
    return Window(since, until, config.slice_days)


def slices(config: SlurmConfig) -> Iterator[Partition]:
    """Return a partition per slice, and one for jobs cancelled before they became eligible.

    A slice that ended a day ago or earlier is settled: it is read again only if the settings
    change. The last slice has the jobs that have not ended, and is always read again.
    """
    now = datetime.now(UTC)
    window = window_of(config, now)
    bounds = window.bounds()
    common = {"since": window.since.isoformat(), "until": window.until.isoformat()}
    for start, stop in bounds:
        settled = stop != window.until and stop + SETTLED < now
        yield Partition(
            id=f"{start:%Y-%m-%dT%H%M%SZ}",
            origin=ORIGIN,
            options={**common, "start": start.isoformat(), "stop": stop.isoformat()},
            fingerprint=f"{start.isoformat()}/{stop.isoformat()}" if settled else None,
        )
    yield Partition(id="never-eligible", origin=ORIGIN, options=common)
