"""The source ``pbs``: accounting logs, JSON of qstat, or a live server."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs

from harvest import Detection, Partition, ReadContext, Record, Source, file_partitions
from harvest.toolkit.settings import at_least, setting, time_zone
from harvest_toolkit.line_source import LineSource
from harvest_toolkit.live import unpacked
from harvest_toolkit.streams import open_stream

from .records import Event, Job

LIVE: Final = "live"
RECORD: Final = re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];[^;\s]+;")
_HEAD_BYTES: Final = 4096


@attrs.frozen(kw_only=True)
class PbsConfig:
    """Settings of the source; the last two are for ``pbs:live``."""

    timezone: str | None = setting(
        "time zone of the server's clock (Europe/Zurich); UTC unless given", None, time_zone
    )
    qstat: str = setting("program to run", "qstat")
    timeout_s: int = setting("seconds after which qstat is stopped", 300, at_least(1))


class PbsSource(LineSource):
    """Reads PBS accounting as ``pbs.job`` and ``pbs.event``.

    The location is a log or a directory of logs, JSON of qstat, or ``live`` to ask the server.
    A log is read as a whole, since its last record of a job decides about the others.
    """

    name = "pbs"
    record_types: ClassVar[tuple[type[Record], ...]] = (Job, Event)
    Config = PbsConfig
    reads_live = True

    config: PbsConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Recognise a log by its first record, or the JSON of qstat."""
        if not path.is_file():
            return None
        kind = kind_of(path)
        if kind == "log":
            return Detection(0.95, "a record of PBS accounting in its first line")
        return Detection(0.95, "JSON of PBS's qstat") if kind == "qstat" else None

    def plan(self) -> Iterable[Partition]:
        """Return a partition per file; ``live`` is one partition, which is always read again."""
        if self.location == LIVE:
            return [Partition(id="qstat", origin="pbs:live")]
        return Source.plan(self)

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Return a partition per file; None for ``live``."""
        return None if self.location == LIVE else file_partitions(self.location, files)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        """Return batches of jobs and events."""
        # these load polars, which planning does not need
        from .log import LogReader
        from .qstat import read_live, read_qstat

        if self.location == LIVE:
            yield from read_live(partition, self.config.qstat, self.config.timeout_s, ctx)
            return
        if kind_of(partition.path) == "qstat":
            with unpacked(partition.path, partition.origin) as stream:
                yield from read_qstat(stream, self.config.timezone, partition, ctx)
            return
        reader = LogReader(self.config.timezone, ctx)
        yield from reader.read(self.lines(partition, ctx))
        reader.note(partition)


def kind_of(path: Path) -> str | None:
    """Return ``log``, ``qstat``, or None for any other file."""
    with open_stream(path) as stream:
        head = stream.read(_HEAD_BYTES).lstrip(b"\xef\xbb\xbf\r\n\t ")
    if RECORD.match(head):
        return "log"
    found = head.startswith(b"{") and b'"pbs_version"' in head and b'"pbs_server"' in head
    return "qstat" if found else None
