"""A record type with a column of each type, a source of such rows, and values to try."""

import math
from datetime import UTC, datetime
from pathlib import Path

import attrs
import polars as pl
from hypothesis import strategies as st

import harvest
from harvest.plugins import plugins_of
from harvest_exports import plugin
from harvest_parquet.sink import ParquetSink

ROWS: list[dict] = []


@attrs.frozen
class Point:
    """A struct."""

    x: float | None
    label: str | None


@harvest.record("zoo.row", layer="system", level="client")
class Row(harvest.Record):
    """A column of each type."""

    flag: bool | None = harvest.field(doc="Whether; it's a flag.")
    small: harvest.Int32 | None = harvest.field(doc="Small.")
    whole: int | None = harvest.field(unit="B", doc="Whole.")
    natural: harvest.UInt32 | None = harvest.field(doc="Natural.")
    large: harvest.UInt64 | None = harvest.field(doc="Large.")
    number: float | None = harvest.field(doc="Number.")
    text: str | None = harvest.field(doc="Text.")
    raw: bytes | None = harvest.field(doc="Bytes.")
    time: datetime | None = harvest.field(doc="Time.")
    texts: list[str] | None = harvest.field(doc="Texts.")
    wholes: list[int | None] | None = harvest.field(doc="Numbers.")
    larges: list[harvest.UInt64] | None = harvest.field(doc="Large ones.")
    times: list[datetime] | None = harvest.field(doc="Times.")
    words: dict[str, str] | None = harvest.field(doc="A map.")
    amounts: dict[str, float] | None = harvest.field(doc="Amounts.")
    point: Point | None = harvest.field(doc="A struct.")
    points: list[Point] | None = harvest.field(doc="Structs.")
    table: list[list[int]] | None = harvest.field(doc="Lists of lists.")


class ZooSource(harvest.Source):
    """The rows of this module, for any file."""

    name, record_types = "zoo", (Row,)

    def read(self, partition, ctx):
        for row in ROWS:
            yield Row(**row)


no_nul = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)
whole = st.integers(-(2**63), 2**63 - 1)
large = st.integers(0, 2**64 - 1)
moment = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))
number = st.floats()
point = st.builds(Point, x=st.none() | number, label=st.none() | no_nul)
rows = st.fixed_dictionaries(
    {
        name: st.none() | values
        for name, values in {
            "flag": st.booleans(),
            "small": st.integers(-(2**31), 2**31 - 1),
            "whole": whole,
            "natural": st.integers(0, 2**32 - 1),
            "large": large,
            "number": number,
            "text": no_nul,
            "raw": st.binary(max_size=8),
            "time": moment,
            "texts": st.lists(no_nul, max_size=3),
            "wholes": st.lists(st.none() | whole, max_size=3),
            "larges": st.lists(large, max_size=3),
            "times": st.lists(moment, max_size=3),
            "words": st.dictionaries(no_nul, no_nul, max_size=3),
            "amounts": st.dictionaries(no_nul, number, max_size=3),
            "point": point,
            "points": st.lists(point, max_size=3),
            "table": st.lists(st.lists(whole, max_size=2), max_size=2),
        }.items()
    }
)

BLANK = dict.fromkeys(attrs.fields_dict(Row))
for _tail in ("extra", "origin", "position"):
    BLANK.pop(_tail, None)


def same(found, expected) -> bool:
    """Whether both are one value; JSON writes 4e16 as 40000000000000000, which is that number."""
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return float(found) == expected or (math.isnan(found) and math.isnan(expected))
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in found)
    return found == expected


class Views:
    """Views that do in the midst of an export what a test wants: ``then`` is called."""

    def __init__(self, then=lambda: None):
        self.then = then

    @harvest.hookimpl
    def harvest_views(self):
        def last(dataset):
            self.then()
            return dataset["zoo.row"].select("text")

        def refusing(dataset, *, which=None):
            if which is None:
                raise harvest.UsageError("which one?", remedy="give which=NAME")
            return dataset["zoo.row"].select(pl.lit(which).alias("which"))

        needs = {"requires": ("zoo.row",)}
        return [
            harvest.View(name="zoo.texts", doc="Texts.", build=last, **needs),
            harvest.View(name="zoo.one", doc="One.", build=refusing,
                         settings={"which": "which one"}, **needs),
        ]  # fmt: skip


def zoo(folder: Path, *given_rows: dict, views: object = None) -> harvest.Dataset:
    """The dataset of some rows."""
    (folder / "in.txt").write_text(str(given_rows))
    ROWS[:] = given_rows
    plugins = _plugins(views)
    harvest.run(f"zoo:{folder}/in.txt", f"parquet:{folder}/out", plugins=plugins)
    return harvest.open(folder / "out", plugins=plugins)


def opened(folder: Path | str, views: object) -> harvest.Dataset:
    """What ``zoo`` wrote, with other views."""
    return harvest.open(Path(folder) / "out", plugins=_plugins(views))


def _plugins(views: object):
    return plugins_of(ZooSource, ParquetSink, plugin, views or Views())
