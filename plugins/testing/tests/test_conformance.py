"""The conformance kit for sources: each defect breaks its own promise, in words that name it."""

from pathlib import Path
from typing import ClassVar

import attrs
import pytest

import harvest
from harvest import Record, Source, SourceError, field
from harvest_testing import BrokenPromise, SourceConformance


class LinesKit(SourceConformance):
    """Two files of lines."""

    units = 4

    def sample(self, directory):
        (directory / "a.txt").write_text("good\nmorning\n")
        (directory / "b.txt").write_bytes("Zürich\n".encode() + b"\xff\n")
        return directory


def broken(source: type[Source], test: str, tmp_path: Path, **more: object) -> BrokenPromise:
    """The promise that a test finds broken."""
    kit = type("Kit", (LinesKit,), {"source": source, **more})()
    with pytest.raises(BrokenPromise) as raised:
        getattr(kit, test)(tmp_path)
    assert raised.value.promise
    assert raised.value.remedy
    return raised.value


@harvest.record("kit.text", layer="workflow", level="client")
class Text(Record):
    """One line."""

    text: str = field(role="subject", doc="The line.")


class Lines(Source):
    """Lines of text, for sources with one defect each."""

    name: ClassVar[str] = "kit-lines"
    record_types = (Text,)

    def read(self, partition, ctx):
        for number, raw in enumerate(partition.path.read_bytes().splitlines(), 1):
            ctx.read(1)
            yield Text(text=raw.decode("utf-8", "replace"), position=number)


class Losing(Lines):
    def read(self, partition, ctx):
        yield from (row for row in super().read(partition, ctx) if row.text != "morning")


class Renaming(Lines):
    def prepare(self, partition):
        return attrs.evolve(partition, id=f"{partition.id}, prepared")


class Counting(Lines):
    seen: ClassVar[list[str]] = []

    def read(self, partition, ctx):
        self.seen.append(partition.id)
        for row in super().read(partition, ctx):
            row.text += f" {len(self.seen)}"
            yield row


@pytest.mark.parametrize(
    ("source", "test", "seen"),
    [
        (Losing, "test_accounting_adds_up", "2 units read, but 1 rows"),
        (Renaming, "test_accounting_adds_up", "prepare() changed more than the options"),
        (Counting, "test_partitions_are_independent", "read alone gives something else"),
    ],
)
def test_a_defect_breaks_its_promise(source, test, seen, tmp_path):
    assert seen in broken(source, test, tmp_path).seen


def test_undocumented_columns_and_settings_are_named(tmp_path):
    @harvest.record("kit.bare", layer="workflow", level="client")
    class Bare(Record):
        text: str

    @attrs.frozen(kw_only=True)
    class Config:
        depth: int = 1

    class Undocumented(Lines):
        record_types = (Bare,)

    Undocumented.Config = Config
    kit = type("Kit", (LinesKit,), {"source": Undocumented})()
    with pytest.raises(BrokenPromise) as raised:
        kit.test_schema_is_declared()
    for what in ("kit.bare.text", "no docstring", "'depth'"):
        assert what in raised.value.seen


class Silent(Lines):
    def read(self, partition, ctx):
        if partition.path.read_bytes()[:1].isalnum():
            yield from super().read(partition, ctx)


class Refusing(Lines):
    def plan(self):
        for partition in super().plan():
            if not partition.path.read_bytes()[:1].isalnum():
                raise SourceError("is no text", remedy="give another")
            yield partition


@pytest.mark.parametrize(
    ("source", "corruption", "seen"),
    [
        (Silent, "zeroed", "give no row, no reject, no note and no error"),
        (Refusing, "zeroed", "with it 1 sound partitions"),
    ],
)
def test_damage_that_breaks_a_source_is_named(source, corruption, seen, tmp_path):
    class Kit(LinesKit):
        def sample(self, directory):
            for name in ("a.txt", "b.txt"):
                (directory / name).write_text("good\nmorning\n")
            return directory

    kit = Kit()
    kit.__class__.source = source
    with pytest.raises(BrokenPromise) as raised:
        kit.test_corrupt_input_becomes_rejects(tmp_path, corruption)
    assert raised.value.seen.startswith("a.txt, ")
    assert seen in raised.value.seen
