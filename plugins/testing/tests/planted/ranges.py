"""A sound source that reads byte ranges of large files: lines ``NAME VALUE``."""

from __future__ import annotations

import attrs

import harvest
from harvest import Partition, Record, Source, SourceError, field
from harvest.toolkit.files import input_path
from harvest.toolkit.settings import positive, setting


@harvest.record("planted.reading", layer="system", level="process")
class Reading(Record):
    """A value of something."""

    name: str = field(role="subject", doc="Of what.")
    value: float = field(doc="The value.")


@attrs.frozen(kw_only=True)
class Config:
    range_bytes: int = setting("About how much is read at a time.", 1 << 26, positive)


class RangeSource(Source):
    """Readings, one a line; a range begins behind the first line end before it."""

    name = "planted-ranges"
    record_types = (Reading,)
    Config = Config

    def plan(self):
        path = input_path(self.location)
        if not path.is_file():
            raise SourceError("not a file", where=str(path), remedy="name a file")
        size = path.stat().st_size
        for start in range(0, max(size, 1), self.config.range_bytes):
            stop = min(start + self.config.range_bytes, size)
            yield Partition(
                id=f"{path.name}@{start}", origin=str(path), inputs=(str(path),),
                start=start, stop=stop, size_bytes=stop - start,
            )  # fmt: skip

    def prepare(self, partition):
        try:
            with partition.path.open("rb") as file:
                before = file.read(partition.start).count(b"\n")
        except OSError as error:
            raise SourceError(str(error), where=partition.origin) from error
        return attrs.evolve(partition, options={"before": before})

    def read(self, partition, ctx):
        number = partition.options["before"]
        with partition.path.open("rb") as file:
            if partition.start:
                file.seek(partition.start - 1)
                number += bool(file.readline()) and file.tell() > partition.start
            while file.tell() < partition.stop and (raw := file.readline()):
                number += 1
                ctx.read(1)
                ctx.advance(len(raw))
                line = raw.rstrip(b"\r\n")
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                try:
                    name, value = line.decode().split()
                    row = Reading(name=name, value=float(value), position=number)
                except ValueError as error:
                    ctx.reject(raw, f"no 'NAME VALUE': {error}", position=number)
                    continue
                yield row
