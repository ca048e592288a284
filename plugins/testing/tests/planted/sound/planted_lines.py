"""The source lines: measurements, one a line, as the scaffold begins a source.

``TIME NAME VALUE COUNT NOTE`` are separated by tabs; ``-`` is a value that nobody took.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import attrs

import harvest
from harvest import Detection, Partition, ReadContext, Record, field
from harvest.toolkit.settings import setting, time_zone


@harvest.record("planted.measurement", layer="system", level="process")
class Measurement(Record):
    """A value that something had at a moment."""

    time: datetime = field(role="time", doc="When it was measured.")
    name: str = field(role="subject", doc="What was measured.")
    value: float | None = field(doc="Its value; null where none was taken.")
    count: int | None = field(doc="From how many samples; null where nobody counted.")
    note: str | None = field(doc="What the person at the device wrote.")


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the source."""

    name: str | None = setting("Keep measurements of this name only.")
    timezone: str = setting("Zone of times that carry none.", "UTC", time_zone)


class LinesSource(harvest.Source):
    """Measurements from text files, one a line."""

    name = "planted-lines"
    record_types = (Measurement,)
    Config = Config

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Files whose name ends in ``.lines``, or that begin with the device's comment."""
        if not path.is_file():
            return None
        if path.suffix == ".lines":
            return Detection(0.5, "the file's ending")
        with path.open("rb") as file:
            if file.read(9) == b"# device ":
                return Detection(0.9, "the comment in its first line")
        return None

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Measurement]:
        """One measurement a line; what is none is rejected with its line number."""
        zone = ZoneInfo(self.config.timezone)
        with partition.path.open("rb") as lines:
            for number, raw in enumerate(lines, 1):
                ctx.read(1)
                ctx.advance(len(raw))
                if raw.startswith(b"#"):
                    ctx.folded(1, "comment")
                    continue
                try:
                    row = measurement(raw, number, zone)
                except (ValueError, OverflowError) as error:
                    ctx.reject(raw, f"no measurement: {error}", position=number)
                    continue
                if self.config.name is not None and row.name != self.config.name:
                    ctx.filtered(1, "another name")
                    continue
                yield row


def measurement(raw: bytes, number: int, zone: ZoneInfo) -> Measurement:
    """The measurement of a line; raises ValueError where it is none."""
    text = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    when, name, value, count, note = text.split("\t")
    time = datetime.fromisoformat(when)
    if time.tzinfo is None:
        time = time.replace(tzinfo=zone)
    samples = None if count == "-" else int(count)
    if samples is not None and not -(2**63) <= samples < 2**63:
        raise ValueError(f"{count} samples are too many")
    return Measurement(
        time=time,
        name=name,
        value=None if value == "-" else float(value),
        count=samples,
        note=None if note == "-" else note,
        position=number,
    )
