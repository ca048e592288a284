"""Drive a sink by hand, step by step, as a run's commit does.

    driver = SinkDriver(MySink(str(tmp_path / "out")))
    driver.commit({"first": [(kind, table)], "second": [(kind, other)]})
    driver.commit({"first": None})                      # removes the partition
    driver.scan(kind).collect()

To test what remains after a kill, call ``stage``, ``publish`` and ``finish`` separately.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

import attrs
import polars as pl
import pyarrow as pa

from harvest import PartFile, PartWriter, Publication, Sink, SmallRows
from harvest.model import RecordType
from harvest.model.arrow import concat_tables, size_of
from harvest.toolkit.files import flush

__all__ = ["SinkDriver", "part_stem"]

Rows: TypeAlias = tuple[RecordType, pa.Table]


def part_stem(key: str, state: str) -> str:
    """Make the stem of a part's file names, as the core does: key, and hashes of key and state."""
    return f"{key}-{_digest(key)[:16]}-{_digest(state)[:12]}"


@attrs.define
class SinkDriver:
    """A sink, and the files of its current manifest.

    files: partition key -> committed files. commits: number of commits staged.
    small_bytes: maximum Arrow bytes of a partition whose rows a sink that shares files writes
        together with others; 0 writes each partition with a writer of its own.
    stem: returns a part's stem for its key and the state of its input.
    """

    sink: Sink
    files: dict[str, tuple[PartFile, ...]] = attrs.field(factory=dict)
    commits: int = 0
    small_bytes: int = 1 << 20
    stem: Callable[[str, str], str] = part_stem

    def commit(self, partitions: Mapping[str, Iterable[Rows] | None]) -> Publication:
        """Stage, publish and finish new rows of some partitions; None removes a partition."""
        publication = self.stage(partitions)
        self.publish(publication)
        return self.finish(publication)

    def stage(self, partitions: Mapping[str, Iterable[Rows] | None]) -> Publication:
        """Write the rows into staging; return the publication that would commit them."""
        self.sink.check()
        self.commits += 1
        token = f"commit-{self.commits}"
        parts: dict[str, tuple[PartFile, ...]] = dict(self.files)
        staged: dict[str, Path] = {}
        small: dict[str, Callable[[], dict[str, SmallRows]]] = {}
        for key, tables in partitions.items():
            if tables is None:
                del parts[key]
                continue
            stem = self.stem(key, token)
            staged[key] = self.sink.state / "staging" / stem
            staged[key].mkdir(parents=True)
            rows = list(tables)
            if self.sink.shares_files and sum(size_of(t) for _, t in rows) <= self.small_bytes:
                few = _small(rows)
                parts[key] = tuple(_unwritten(name, each) for name, each in few.items())
                if few:
                    small[key] = partial(dict, few)
            else:
                parts[key] = _stage_files(self.sink.writer(staged[key], stem), staged[key], rows)
        return Publication(
            parts=dict(sorted(parts.items())),
            staged=staged,
            old=dict(self.files),
            token=token,
            small=small,
        )

    def publish(self, publication: Publication) -> None:
        """Publish, and make the new manifest the current one."""
        final = self.sink.publish(publication)
        self.files = {key: tuple(final.get(key, files)) for key, files in publication.parts.items()}

    def finish(self, publication: Publication) -> Publication:
        """Finish a commit whose manifest is the current one."""
        publication = attrs.evolve(publication, parts=self.files)
        self.sink.finish(publication)
        return publication

    def recover(self, token: str = "") -> None:
        """Recover as the next run does first: finish the commit of the current manifest."""
        self.sink.finish(Publication(parts=self.files, staged={}, old=self.files, token=token))

    def scan(self, kind: RecordType) -> pl.LazyFrame:
        """Scan all committed rows of a record type."""
        every = (file for of_part in self.files.values() for file in of_part)
        mine = [file for file in every if file.record_type in (kind.name, "events")]
        return self.sink.scan(mine, kind)


def _small(given: Iterable[Rows]) -> dict[str, SmallRows]:
    tables: dict[str, list[pa.Table]] = {}
    for kind, table in given:
        tables.setdefault(kind.name, []).append(table)
    whole = {name: concat_tables(each) for name, each in tables.items()}
    return {n: SmallRows(rows, 0, rows.num_rows, size_of(rows)) for n, rows in whole.items()}


def _unwritten(name: str, few: SmallRows) -> PartFile:
    """Describe rows of a small partition that the sink has not written yet."""
    return PartFile(
        path=f"{name}.arrow", record_type=name, rows=few.stop, size_bytes=few.size_bytes,
        sha256="", first_row=0, file_rows=few.stop,
    )  # fmt: skip


def _stage_files(
    writer: PartWriter, directory: Path, given: Iterable[Rows]
) -> tuple[PartFile, ...]:
    try:
        for kind, table in given:
            writer.write(kind, table)
        written = writer.close()
    except BaseException:
        writer.abort()
        raise
    files = []
    for path, name, rows in written:
        size, digest = flush(directory / path)
        file = PartFile(path=path, record_type=name, rows=rows, size_bytes=size, sha256=digest)
        files.append(file)
    return tuple(files)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
