"""Columns of views: types from what a view gives without rows, meanings from what it declares."""

import polars as pl
import pytest
from datasets import plugins_with

from harvest import Column, DatasetError, View, declare
from harvest.plugins import PluginManager
from harvest_look.schema import view_schema


def rising(dataset, *, extra="no"):
    frame = pl.LazyFrame({"size": [1.5], "when": [None]}, schema={"size": float, "when": pl.Date})
    return frame if extra == "no" else frame.with_columns(extra=pl.lit(1))


def refusing(dataset):
    raise DatasetError("there is nothing", remedy="harvest something")


COLUMNS = (
    Column("extra", doc="One."),
    Column("size", format="bytes", doc="How large."),
    Column("when", doc="Its day."),
)
harvest_views = declare(
    View(name="test.rising", doc="Sizes.", build=rising, columns=COLUMNS,
         settings={"extra": "yes or no"}),
    View(name="test.refusing", doc="Never.", build=refusing, columns=COLUMNS),
)  # fmt: skip


@pytest.fixture
def strangers() -> PluginManager:
    """A manager that knows the core and the views above."""
    return plugins_with(strange=__name__)


def test_a_column_that_a_setting_adds_has_no_type_but_its_meaning(strangers):
    found = view_schema(strangers.view("test.rising"), strangers)
    assert found.rows == [
        ("size", "double", "bytes", "How large."),
        ("when", "date32[day]", None, "Its day."),
        ("extra", "depends on settings", None, "One."),
    ]
    schema = found.json_schema()
    assert schema["properties"]["extra"] == {"description": "One."}
    assert schema["properties"]["when"]["anyOf"][0] == {"type": "string", "format": "date"}
    assert found.arrow_schema.names == ["size", "when"]


def test_a_view_that_refuses_a_dataset_without_rows_still_has_its_meanings(strangers):
    found = view_schema(strangers.view("test.refusing"), strangers)
    assert "there is nothing" in found.unknown
    assert [row[:2] for row in found.rows] == [
        (name, "unknown without rows") for name in ("extra", "size", "when")
    ]
