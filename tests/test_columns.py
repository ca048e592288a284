"""Kinds of columns, and that declaring them loads nothing heavy."""

import polars as pl

from harvest import Column, UInt64, View, columns
from harvest.commands.declared import columns_of
from harvest.model.frames import types_of
from harvest.plugins import manager


def test_a_kind_of_column_sets_its_type_unit_and_format() -> None:
    assert columns.seconds("wall_s", doc="How long it took.") == Column(
        "wall_s", unit="s", format="seconds", doc="How long it took.", type=float
    )
    assert columns.hours("gpu_hours", unit="GPU h").heading == "gpu_hours (GPU h)"


def test_the_kinds_of_columns_give_the_types_of_a_frame() -> None:
    declared = (
        *(columns.text("host"), columns.texts("hosts"), columns.count("jobs")),
        *(columns.size("read_bytes"), columns.seconds("wall_s"), columns.flag("ended")),
        *(columns.time("began"), columns.number("inode", kind=UInt64)),
    )

    assert types_of(declared) == {
        "host": pl.String(),
        "hosts": pl.List(pl.String()),
        "jobs": pl.Int64(),
        "read_bytes": pl.Int64(),
        "wall_s": pl.Float64(),
        "ended": pl.Boolean(),
        "began": pl.Datetime("us", "UTC"),
        "inode": pl.UInt64(),
    }


def test_people_see_first_what_a_view_says_comes_first() -> None:
    view = View(
        name="test.jobs",
        doc="Jobs.",
        build="test:jobs",
        columns=(columns.count("jobs"), columns.text("user"), columns.text("host")),
        first=("user",),
    )

    assert list(columns_of(view, manager())) == ["user", "jobs", "host"]
