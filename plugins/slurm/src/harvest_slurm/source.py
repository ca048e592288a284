"""The source ``slurm``: sacct's output in any layout, or a live cluster in slices of time."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import attrs

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partitions
from harvest_toolkit.live import open_input

from .config import SlurmConfig, moment
from .records import Job, Step

ORIGIN: Final = "slurm:live"
"""What rows of a live cluster name as their origin."""

SETTLED: Final = timedelta(days=1)
"""How long after its end a slice may still change: daemons hand in late records."""


@attrs.frozen
class Window:
    """A window in time, cut into slices."""

    since: datetime
    until: datetime
    days: int

    def bounds(self) -> list[tuple[datetime, datetime]]:
        """Slices, aligned to whole multiples of their length so that they stay the same."""
        step = timedelta(days=self.days)
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        start = self.since
        found = []
        while start < self.until:
            stop = min(epoch + ((start - epoch) // step + 1) * step, self.until)
            found.append((start, stop))
            start = stop
        return found


def window_of(config: SlurmConfig, now: datetime | None = None) -> Window:
    """The time window that the settings name."""
    zone = ZoneInfo(config.timezone or "UTC")
    since = moment(config.since or "today", zone, now)
    until = moment(config.until or "now", zone, now)
    if since >= until:
        raise SourceError(
            f"the time window is empty: it begins at {since:%Y-%m-%dT%H:%M:%SZ} and ends at "
            f"{until:%Y-%m-%dT%H:%M:%SZ}",
            where=ORIGIN,
            remedy="set slurm.since and slurm.until",
        )
    return Window(since, until, config.slice_days)


def slices(config: SlurmConfig) -> Iterator[Partition]:
    """A partition per slice, and one for jobs cancelled before they became eligible.

    Slices that ended a day ago and more are taken as settled: they are read again only when the
    settings change.  The last slice holds what has not ended, and is always read again.
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


class SlurmSource(Source):
    """Reads Slurm's accounting as ``slurm.job`` and ``slurm.step``.

    The location is a file or directory of dumps, or ``live`` to ask the cluster itself.
    """

    name = "slurm"
    record_types: ClassVar[tuple[type[Record], ...]] = (Job, Step)
    Config = SlurmConfig
    reads_live = True

    config: SlurmConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the header of sacct, by rows that look like its, or by its JSON."""
        # these load numpy, which naming the source spares
        from .read.form import HEAD_BYTES
        from .read.layout import likeness

        if not path.is_file():
            return None
        try:
            with open_input(path, unpack=True) as stream:
                found = likeness(stream.read(HEAD_BYTES))
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return None  # what it was cannot be found out any more
        return Detection(*found) if found else None

    def plan(self) -> Iterable[Partition]:
        """Each file is a partition; for ``live``, each slice of the time window."""
        if self.location == "live":
            return slices(self.config)
        return super().plan()

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Each file is a partition; ``live`` has none."""
        return None if self.location == "live" else file_partitions(self.location, files)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        """Batches of jobs and steps of a dump or of a slice."""
        if self.location == "live":
            from .live import read_slice  # loads pyarrow and polars, which planning does without

            yield from read_slice(partition, self.config, ctx)
            return
        from .dump import read_dump  # as above

        try:
            with open_input(partition.path, unpack=True) as stream:
                yield from read_dump(stream, partition, self.config, ctx)
        except (EOFError, zlib.error) as error:
            raise SourceError(
                f"its compressed data are damaged or cut short: {error}",
                where=partition.origin,
                remedy="restore it from its origin",
            ) from error
