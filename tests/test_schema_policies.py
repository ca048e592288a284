"""Schema drift between the versions of a plugin: evolve, freeze or reject, alike in every sink.

Each test runs an older version of a source into a dataset, then a newer one whose record type has
a column more, one less, or one of another type.  Each run reads a location of its own, so that the
rows of those before stay beside the new ones.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import duckdb
import polars as pl
import pyarrow as pa
import pytest
from datasets import plugins_with

import harvest
from harvest import Int32, Partition, ReadContext, Record, Source, UInt64, View, field, record
from harvest.model import record_type
from harvest.model.arrow import table_of
from harvest.model.types import shape_of
from harvest.pipeline.rollback import roll_back
from harvest.plugins.registry import PluginManager
from harvest.reading.frozen import fit_frozen
from harvest.storage.manifest import Manifest

SINKS = {"parquet": "parquet:{}/out", "jsonl": "jsonl:{}/out", "file": "jsonl:{}/out.jsonl.gz"}


@attrs.define
class Lab:
    """A dataset, and a source whose record type changes from run to run."""

    folder: Path
    sink: str
    monkeypatch: pytest.MonkeyPatch
    count: int = 0

    def plugins(self, columns: dict[str, Any], version: int = 1, **rows: Any) -> PluginManager:
        """The sinks, and a source ``lab`` of one row of these columns."""
        body = {name: field(doc="A column.") for name in columns}
        made = type(
            "Sample", (Record,), {**body, "__annotations__": columns, "__doc__": "A sample."}
        )
        kind = record("lab.sample", layer="workflow", level="client", version=version)(made)

        def plan(self: Source) -> Iterator[Partition]:
            yield Partition(id="rows", origin=f"/lab/{self.location}", fingerprint="1")

        def read(self: Source, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
            yield kind(**rows)

        members = {"name": "lab", "record_types": (kind,), "plan": plan, "read": read}
        module = types.ModuleType("lab_plugin")
        module.Lab = type("Lab", (Source,), members)  # type: ignore[attr-defined]
        module.harvest_views = harvest_views  # type: ignore[attr-defined]
        self.monkeypatch.setitem(sys.modules, "lab_plugin", module)
        sinks = {name: f"harvest_{name}.plugin" for name in ("jsonl", "parquet")}
        return plugins_with(lab="lab_plugin:Lab", views="lab_plugin", **sinks)

    def run(self, columns: dict[str, Any], *, policy: str = "evolve", **given: Any) -> Dataset:
        """Harvest one row from a new location, by a source with these columns; the dataset."""
        self.count += 1
        options = {key: given.pop(key) for key in ("force", "limit", "at") if key in given}
        location = options.pop("at", f"part-{self.count}")
        plugins = self.plugins(columns, given.pop("version", 1), **given)
        harvest.run(
            f"lab:{location}", self.sink, plugins=plugins, schema_drift=policy, workers=1, **options
        )
        return self.open(plugins)

    @property
    def location(self) -> Path:
        return Path(self.sink.partition(":")[2])

    @property
    def manifest(self) -> Manifest:
        state = self.location / "_harvest"
        if self.location.suffix:
            state = self.location.with_name(self.location.name + "._harvest")
        found = Manifest.load(state)
        assert found is not None
        return found

    @property
    def recorded(self) -> dict[str, Any]:
        """The columns that the manifest records."""
        return dict(self.manifest.schemas["lab.sample"].columns)

    def open(self, plugins: PluginManager) -> Dataset:
        return Dataset(harvest.open(self.location, plugins=plugins))


@attrs.frozen
class Dataset:
    """A dataset as its readers see it."""

    opened: Any

    def rows(self, *names: str) -> list[dict[str, Any]]:
        """Its rows in the order of the runs; by ``open``, ``query`` and ``view`` all the same."""
        frame = self.opened["lab.sample"].sort("origin").collect()
        queried = self.opened.sql('SELECT * FROM "lab.sample" ORDER BY origin')
        viewed = self.opened.view("lab.view").sort("origin").collect()
        assert self.opened.verify() == []
        wanted = [*names, "extra"] if names else frame.drop("origin", "position").columns
        found = [plain(rows.select(wanted).to_dicts()) for rows in (frame, queried, viewed)]
        assert found[0] == found[1] == found[2]
        return found[0]


harvest_views = harvest.declare(
    View(
        name="lab.view",
        doc="All rows.",
        build=lambda dataset: dataset["lab.sample"],
        requires=("lab.sample",),
    ),
)


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with maps as dicts, whatever gave them."""
    return [row | {"extra": as_dict(row["extra"])} for row in rows]


def as_dict(entries: Any) -> dict[str, str]:
    if isinstance(entries, dict):
        return entries
    return {entry["key"]: entry["value"] for entry in entries or []}


@pytest.fixture(
    params=["parquet", *(pytest.param(form, marks=pytest.mark.slow) for form in ("file", "jsonl"))]
)
def lab(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, SINKS[request.param].format(tmp_path), monkeypatch)


def refused(lab: Lab, match: str, *arguments: Any, **options: Any) -> None:
    """A run that is refused, with what stands in the message, and changes nothing."""
    before = {p: p.read_bytes() for p in lab.folder.rglob("*") if p.is_file()}
    with pytest.raises(harvest.DatasetError, match=match) as caught:
        lab.run(*arguments, **options)
    assert caught.value.exit_code == 1
    assert caught.value.where is not None
    assert "nothing was written" in str(caught.value.remedy)
    after = {p: p.read_bytes() for p in lab.folder.rglob("*") if p.is_file()}
    assert {p: data for p, data in after.items() if p.name != "lock"} == {
        p: data for p, data in before.items() if p.name != "lock"
    }


A, AB = {"a": int}, {"a": int, "b": str}


def test_evolve_adds_a_column(lab: Lab) -> None:
    lab.run(A, a=1)
    dataset = lab.run(AB, a=2, b="x")
    assert dataset.rows() == [{"a": 1, "b": None, "extra": {}}, {"a": 2, "b": "x", "extra": {}}]
    assert lab.recorded == {"a": "int64", "b": "string"}


@pytest.mark.parametrize("policy", ["evolve", "freeze"])
def test_a_column_that_the_record_type_lost_is_kept(lab: Lab, policy: str) -> None:
    lab.run(AB, a=1, b="x")
    dataset = lab.run(A, a=2, policy=policy)
    assert dataset.rows() == [{"a": 1, "extra": {}}, {"a": 2, "extra": {}}]
    # the older rows still have it, for whoever declares it
    assert lab.recorded == {"a": "int64", "b": "string"}
    assert [row["b"] for row in lab.open(lab.plugins(AB)).rows()] == ["x", None]


WIDER = {
    "int32 to int64": (Int32, 1, int, 2**40),
    "list of int32 to list of int64": (list[Int32], [1], list[int], [2**40]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WIDER)
@pytest.mark.parametrize("change", ["evolve widened", "evolve narrowed", "freeze narrowed"])
def test_the_wider_of_two_types_is_taken(lab: Lab, case: str, change: str) -> None:
    policy, direction = change.split()
    narrow, small, wide, large = WIDER[case]
    versions = [({"a": narrow}, small), ({"a": wide}, large)]
    (first, one), (second, two) = versions if direction == "widened" else versions[::-1]
    lab.run(first, a=one)
    dataset = lab.run(second, a=two, policy=policy)

    # then no value changes, and the dataset has the wider type whoever reads it
    assert dataset.rows("a") == [{"a": one, "extra": {}}, {"a": two, "extra": {}}]
    assert dataset.opened["lab.sample"].collect_schema()["a"] in (pl.Int64, pl.List(pl.Int64))
    assert lab.recorded["a"] in ("int64", {"list": "int64"})


CHANGED = {
    "text to number": (str, "x", int, 1),
    "number to text": (int, 1, str, "x"),
    "whole number to fraction": (int, 2**53 + 1, float, 0.5),
    "fraction to whole number": (float, 0.5, int, 1),
    "signed to unsigned": (int, -1, UInt64, 2**63),
    "number to list": (int, 1, list[int], [1]),
    "truth to number": (bool, True, int, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CHANGED)
def test_evolve_refuses_another_type_before_anything_is_written(lab: Lab, case: str) -> None:
    before, one, now, two = CHANGED[case]
    lab.run({"a": before}, a=one)
    kinds = [str(pa.array([value], shape_of(kind).kind).type) for kind, value in
             ((before, one), (now, two))]  # fmt: skip
    match = rf"lab\.sample: column 'a' is {kinds[0]}.* in the dataset and {kinds[1]}"
    refused(lab, match.replace("<", "."), {"a": now}, a=two)
    # and the rows are read as they were written, by old and new version alike
    for columns in ({"a": before}, {"a": now}):
        assert lab.open(lab.plugins(columns)).rows() == [{"a": one, "extra": {}}]


def test_evolve_takes_another_type_when_no_row_of_the_old_one_stays(lab: Lab) -> None:
    # given a dataset of one input, which the newer version reads again
    lab.run({"a": str}, a="x", at="same")
    dataset = lab.run({"a": int}, a=1, at="same", force=True)
    assert dataset.rows() == [{"a": 1, "extra": {}}]
    assert lab.recorded == {"a": "int64"}


def test_a_limited_run_is_checked_as_if_all_rows_stayed(lab: Lab) -> None:
    lab.run({"a": str}, a="x", at="same")
    refused(lab, "column 'a'", {"a": int}, a=1, at="same", force=True, limit=1)


def test_freeze_puts_a_new_column_into_extra(lab: Lab) -> None:
    lab.run(A, a=1)
    dataset = lab.run(AB, a=2, b="x", extra={"c": "y"}, policy="freeze")
    assert dataset.rows() == [
        {"a": 1, "b": None, "extra": {}},
        {"a": 2, "b": None, "extra": {"c": "y", "b": "x"}},
    ]
    assert lab.recorded == {"a": "int64"}


VALUES = {
    "text": (str, 'x "y"', 'x "y"'),
    "whole number": (int, -(2**62), str(-(2**62))),
    "large number": (UInt64, 2**64 - 1, str(2**64 - 1)),
    "time": (datetime, datetime(2024, 1, 2, 3, 4, 5, 6, UTC), "2024-01-02T03:04:05.000006Z"),
    "no number": (float, float("nan"), "NaN"),
    "fraction": (float, 0.1, "0.1"),
    "infinity": (float, float("inf"), "Infinity"),
    "truth": (bool, True, "true"),
    "bytes": (bytes, b"\xff", "/w=="),
    "list": (list[int], [1, 2], "[1,2]"),
    "map": (dict[str, str], {"k": "v"}, '{"k":"v"}'),
    "nothing": (int | None, None, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", VALUES)
def test_freeze_loses_no_value_of_a_new_column(lab: Lab, case: str) -> None:
    hint, value, text = VALUES[case]
    lab.run(A, a=1)
    dataset = lab.run({"a": int, "b": hint}, a=2, b=value, policy="freeze")
    assert dataset.rows("a")[1]["extra"] == ({} if text is None else {"b": text})


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CHANGED, "int32 to int64"])
def test_freeze_puts_values_of_another_type_into_extra(lab: Lab, case: str) -> None:
    before, one, now, two = {**CHANGED, **WIDER}[case]
    lab.run({"a": before}, a=one)
    dataset = lab.run({"a": now}, a=two, policy="freeze")
    text = two if isinstance(two, str) else json.dumps(two)
    assert dataset.rows() == [{"a": one, "extra": {}}, {"a": None, "extra": {"a": text}}]


def test_freeze_keeps_an_entry_of_the_input_that_has_the_column_s_name(lab: Lab) -> None:
    lab.run(A, a=1)
    dataset = lab.run(AB, a=2, b="x", extra={"b": "of the input"}, policy="freeze")
    assert dataset.rows("a")[1]["extra"] == {"b": "of the input", "column b": "x"}


def test_freeze_and_then_evolve(lab: Lab) -> None:
    # given rows of a new column that were frozen, then the column is let in
    lab.run(A, a=1)
    lab.run(AB, a=2, b="x", policy="freeze")
    dataset = lab.run(AB, a=3, b="y")
    assert dataset.rows() == [
        {"a": 1, "b": None, "extra": {}},
        {"a": 2, "b": None, "extra": {"b": "x"}},
        {"a": 3, "b": "y", "extra": {}},
    ]


DIFFERENT = {
    "added": (A, {"a": 1}, AB, {"a": 2, "b": "x"}, "'b' is absent in the dataset and string"),
    "removed": (AB, {"a": 1, "b": "x"}, A, {"a": 2}, "'b' is string in the dataset and absent"),
    "widened": ({"a": Int32}, {"a": 1}, A, {"a": 2}, "'a' is int32 in the dataset and int64"),
    "narrowed": (A, {"a": 1}, {"a": Int32}, {"a": 2}, "'a' is int64 in the dataset and int32"),
    "changed": (A, {"a": 1}, {"a": str}, {"a": "x"}, "'a' is int64 in the dataset and string"),
    "of a new version": (A, {"a": 1}, A, {"a": 2, "version": 2}, "version 1 in the dataset and 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERENT)
def test_reject_refuses_every_difference_before_anything_is_written(lab: Lab, case: str) -> None:
    first, one, second, two, match = DIFFERENT[case]
    lab.run(first, **one)
    refused(lab, match, second, policy="reject", **two)


def test_reject_takes_what_is_not_different(lab: Lab) -> None:
    # neither the order of columns nor whether null is allowed is a difference
    lab.run(AB, a=1, b="x", policy="reject")
    dataset = lab.run({"b": str | None, "a": int}, a=2, b=None, policy="reject")
    assert dataset.rows("a", "b") == [
        {"a": 1, "b": "x", "extra": {}},
        {"a": 2, "b": None, "extra": {}},
    ]


def test_a_dry_run_is_refused_as_the_run_would_be(lab: Lab) -> None:
    lab.run(A, a=1)
    with pytest.raises(harvest.DatasetError, match="'b' is absent"):
        harvest.run(
            "lab:other", lab.sink, plugins=lab.plugins(AB), schema_drift="reject", dry_run=True
        )


def test_one_dataset_that_refuses_stops_the_run_for_all(lab: Lab) -> None:
    lab.run(A, a=1)
    fresh = lab.folder / "fresh"
    with pytest.raises(harvest.DatasetError, match="'b' is absent"):
        harvest.run(
            "lab:x", [f"jsonl:{fresh}", lab.sink], plugins=lab.plugins(AB), schema_drift="reject"
        )
    with pytest.raises(harvest.DatasetError, match="not a dataset"):
        harvest.open(fresh)


def test_going_back_brings_the_columns_back(lab: Lab) -> None:
    lab.run(A, a=1)
    first = lab.manifest
    lab.run(AB, a=2, b="x")
    roll_back(lab.open(lab.plugins(AB)).opened.sink, first.run)
    assert lab.manifest.schemas == first.schemas
    lab.run(A, a=3, policy="reject")


def test_staged_rows_of_another_policy_are_read_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a run that staged a new column and was stopped before its commit
    lab.run(A, a=1)
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise OSError("the disk is gone")

        patch.setattr("harvest.storage.commit.Commit.prepare", fail)
        with pytest.raises(harvest.HarvestError, match="the disk is gone"):
            lab.run(AB, a=2, b="x", at="stopped")

    dataset = lab.run(AB, a=2, b="x", at="stopped", policy="freeze")
    assert [row["extra"] for row in dataset.rows()] == [{}, {"b": "x"}]


def test_parquet_files_of_a_frozen_dataset_all_have_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a reader that knows Parquet alone
    lab = Lab(tmp_path, f"parquet:{tmp_path}/out", monkeypatch)
    lab.run(AB, a=1, b="x")
    lab.run({"a": int, "c": float}, a=2, c=0.5, policy="freeze")
    found = duckdb.sql(
        f"SELECT a, b, extra FROM '{tmp_path}/out/lab.sample/*.parquet' ORDER BY a"
    ).fetchall()
    assert found == [(1, "x", None), (2, None, {"c": "0.5"})]


def test_the_frozen_record_type_is_made_once_and_not_for_each_partition() -> None:
    # shapes of record types stay in memory
    @record("lab.reading", layer="workflow", level="client")
    class Reading(Record):
        a: int
        b: str

    rows = table_of(record_type(Reading), [Reading(a=1, b="x", origin="/in", position=1)])
    fitted = [fit_frozen(record_type(Reading), rows, {"lab.reading": {"a": "int64"}}) for _ in "ab"]
    assert fitted[0][0] is fitted[1][0]
    assert fitted[1][1].to_pylist() == [
        {"a": 1, "extra": [("b", "x")], "origin": "/in", "position": 1}
    ]


def test_the_policy_is_an_option_a_key_of_recipes_and_kept_with_the_run(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from harvest.cli.app import app

    (tmp_path / "r.toml").write_text('[run]\nschema-drift = "freeze"\n')
    shown = CliRunner().invoke(app, ["run", str(tmp_path / "r.toml"), "--print-config"])
    assert 'schema-drift = "freeze"' in shown.output
    on_top = ["run", str(tmp_path / "r.toml"), "--schema-drift", "reject", "--print-config"]
    assert 'schema-drift = "reject"' in CliRunner().invoke(app, on_top).output
    with pytest.raises(harvest.ConfigError, match="use evolve, freeze or reject"):
        harvest.run("slurm:x", "parquet:y", schema_drift="anything")
