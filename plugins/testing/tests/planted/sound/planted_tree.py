"""The source tree: job cards in a tree of directories, in which links lead to others.

A card is a small file ``NAME.job`` of lines ``key: value``; its name is the job's.  A directory
that several paths lead to is read once, by the first of them.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import attrs

import harvest
from harvest import Detection, Partition, ReadContext, Record, SourceError, field, file_partition
from harvest.toolkit.files import input_path
from harvest.toolkit.settings import at_least, setting

LARGEST = 1 << 20


@harvest.record("planted.card", layer="job", level="job")
class Card(Record):
    """A job as it was asked for."""

    time: datetime = field(role="time", doc="When it was asked for.")
    name: str = field(role="subject", doc="Its name: that of the file.")
    user: str = field(role="user", doc="Who asked.")
    nodes: int | None = field(doc="How many nodes; null where the card does not say.")
    modules: list[str] = field(doc="Modules to load, in their order.")


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the source."""

    hidden: bool = setting("Whether directories count whose names begin with a dot.", False)
    depth: int = setting("How many levels of directories are entered.", 16, at_least(0))


class TreeSource(harvest.Source):
    """Job cards at any depth."""

    name = "planted-tree"
    record_types = (Card,)
    Config = Config

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the ending of the name and the first key."""
        if not path.is_file() or path.suffix != ".job":
            return None
        with path.open("rb") as file:
            if file.read(6) == b"user: ":
                return Detection(0.9, "its ending and its first key")
        return Detection(0.4, "its ending")

    def plan(self) -> Iterator[Partition]:
        """Each card is a partition; its id is the path below the location."""
        top = input_path(self.location)
        if not top.is_dir():
            yield file_partition(top, id=top.name)
            return
        found = False
        for path in self._cards(top, 0, set()):
            found = True
            yield file_partition(path, id=str(path.relative_to(top)))
        if not found:
            raise SourceError("no job card is here", where=str(top), remedy="check the location")

    def _cards(self, folder: Path, level: int, entered: set[tuple[int, int]]) -> Iterator[Path]:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in entered:
            return
        entered.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        folders = []
        for name in names:
            path = folder / name
            if path.is_dir():
                if self.config.hidden or not name.startswith("."):
                    folders.append(path)
            elif path.suffix == ".job" and (path.is_file() or path.is_symlink()):
                yield path
        if level < self.config.depth:
            for path in folders:
                yield from self._cards(path, level + 1, entered)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Card]:
        """The one row of a card."""
        ctx.read(1)
        with partition.path.open("rb") as file:
            data = file.read(LARGEST + 1)
        try:
            card = card_of(data, partition.path)
        except ValueError as error:
            ctx.reject(data, f"no job card: {error}", position=1)
            return
        ctx.advance(len(data))
        yield card


def card_of(data: bytes, path: Path) -> Card:
    """The card that a file holds; raises ValueError where it holds none."""
    if len(data) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    said: dict[str, str] = {}
    for line in data.decode("utf-8").removesuffix("\n").split("\n"):
        key, colon, value = line.removesuffix("\r").partition(": ")
        if not colon or not key:
            raise ValueError(f"{line[:40]!r} is not 'key: value'")
        if key in said:
            raise ValueError(f"{key!r} is there twice")
        said[key] = value
    if not said.keys() >= {"user", "time"}:
        raise ValueError("it names no user or no time")
    time = datetime.fromisoformat(said.pop("time"))
    if time.tzinfo is None:
        raise ValueError("the time has no zone")
    nodes = said.pop("nodes", None)
    if nodes is not None and not (nodes.isascii() and nodes.isdecimal() and len(nodes) < 10):
        raise ValueError(f"{nodes[:40]!r} nodes")
    return Card(
        time=time,
        name=os.fsencode(path.stem).decode("utf-8", "backslashreplace"),
        user=said.pop("user"),
        nodes=None if nodes is None else int(nodes),
        modules=said.pop("modules", "").split(),
        extra=said or None,
        position=1,
    )
