"""The metadata map: every record type counted at its place, and what is missing named."""

import csv
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from browser import dumped
from datasets import plugins_with
from html_shown import Shown

import harvest
from harvest.model import LAYERS, LEVELS
from harvest.plugins.registry import PluginManager
from harvest_insight.run_map_kinds import STEPS, steps_of
from harvest_insight.run_map_plot import short

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples/dask-run/D2024-05-06_07:08:09_R1_W4"


def plugins_of(*names: str) -> PluginManager:
    """The core's plugins, and some distributions' of the project; ``lost`` has no module."""
    return plugins_with(**{name: f"harvest_{name}.plugin" for name in names})


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    for module in ("harvest_mofka_dask", "harvest_parquet"):
        pytest.importorskip(module)
    out = tmp_path_factory.mktemp("map") / "out"
    harvest.run(sources=[f"mofka-dask:{EXAMPLE}"], sinks=[f"parquet:{out}"])
    return harvest.open(out)


@pytest.fixture(scope="module")
def report(dataset):
    return dataset.report("run.map")


def rows(report, name):
    (table,) = report.only(name).tables
    return table.rows.to_dicts()


def test_each_record_is_counted_at_its_place(dataset, report):
    known = dataset.plugins.record_types()
    expected = Counter()
    for name, count in dataset.record_types.items():
        expected[known[name].layer, known[name].level] += count
    found = {(r["layer"], r["level"]): r["records"] for r in rows(report, "places")}
    assert {place: count for place, count in found.items() if count} == expected
    # places that a source could fill are there, too
    assert set(found) == {(kind.layer, kind.level) for kind in known.values()}


def test_every_record_type_is_either_harvested_or_missing(dataset, report):
    held = {r["record_type"]: r["records"] for r in rows(report, "harvested")}
    missing = {r["record_type"] for r in rows(report, "missing")}
    assert held == dataset.record_types
    assert missing == set(dataset.plugins.record_types()) - set(held)


def test_origins_are_the_inputs_that_held_a_type(dataset, report):
    for row in rows(report, "harvested"):
        origins = dataset[row["record_type"]].collect()["origin"]
        assert row["origins"] == origins.n_unique()


def test_times_are_those_of_the_rows(dataset, report):
    (row,) = (r for r in rows(report, "harvested") if r["record_type"] == "dask.worker_transition")
    times = dataset["dask.worker_transition"].collect()["time"]
    assert (row["first_time"], row["last_time"]) == (times.min(), times.max())


def test_steps_add_up_their_types(report):
    held = rows(report, "harvested")
    for row in rows(report, "steps"):
        mine = [r for r in held if row["step"] in steps_of(r["layer"], r["level"])]
        assert (row["types"], row["records"]) == (len(mine), sum(r["records"] for r in mine))
    assert [row["step"] for row in rows(report, "steps")] == list(STEPS)


def test_every_place_belongs_to_a_step():
    covered = {step for layer in LAYERS for level in LEVELS for step in steps_of(layer, level)}
    assert covered == set(STEPS)


def test_what_is_missing_names_its_source(dataset, report):
    for row in rows(report, "missing"):
        declared = dataset.plugins.source(row["source"]).record_types
        assert row["record_type"] in {harvest.record_type(cls).name for cls in declared}
        used = row["source"] == "mofka-dask"
        assert row["todo"].startswith("none in what" if used else f"--source {row['source']}:")


def test_where_it_comes_from(dataset, report):
    (row,) = rows(report, "sources")
    assert (row["source"], row["place"]) == ("mofka-dask", str(EXAMPLE))
    assert row["partitions"] == len(dataset.parts)
    assert row["records"] == sum(dataset.record_types.values())


@harvest.record("stranger.line", layer="workflow", level="client")
class Line(harvest.Record):
    """One line of a text file."""

    text: str = harvest.field(doc="The line.")


class Stranger(harvest.Source):
    """Lines of text files."""

    name, record_types = "stranger", (Line,)

    def read(self, partition, ctx):
        for line in partition.path.read_text().splitlines():
            yield Line(text=line)


def test_a_stranger_s_types_find_their_place(tmp_path):
    pytest.importorskip("harvest_parquet")
    plugins = plugins_of("insight", "parquet")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    harvest.run(Stranger(str(tmp_path / "a.txt")), f"parquet:{tmp_path / 'out'}", plugins=plugins)
    report = harvest.open(tmp_path / "out", plugins=plugins).report("run.map")
    (place,) = rows(report, "places")
    assert (place["layer"], place["level"], place["records"]) == ("workflow", "client", 2)
    assert place["missing"] is None
    (sources,) = rows(report, "sources")
    assert sources["place"] == str(tmp_path / "a.txt")
    # the map tells which steps nothing was harvested of
    assert "1 (job start), 2 (configuration) and 5 (I/O and end)" in report.intro[0]


def test_a_type_whose_plugin_is_gone_is_still_counted(dataset):
    alone = harvest.open(dataset.sink.location, plugins=plugins_of("insight", "parquet"))
    report = alone.report("run.map")
    assert {r["record_type"]: r["records"] for r in rows(report, "harvested")} == (
        dataset.record_types
    )
    assert {r["layer"] for r in rows(report, "harvested")} == {None}
    (notes,) = report.only("notes").sections
    assert "its place is unknown" in notes.items[-1]


def test_a_plugin_that_is_broken_is_told(dataset):
    plugins = plugins_of("insight", "parquet", "mofka_dask", "lost")
    alone = harvest.open(dataset.sink.location, plugins=plugins)
    (notes,) = alone.report("run.map").only("notes").sections
    assert any("'lost' cannot be used" in item for item in notes.items)


def test_it_is_csv_json_and_text(report, tmp_path):
    report.write(tmp_path / "map.csv")
    with (tmp_path / "map.csv").open(newline="") as file:
        first, *_ = csv.DictReader(file)
    assert first["layer"] == "job"
    report.write(tmp_path / "map.json")
    found = json.loads((tmp_path / "map.json").read_text())
    assert found["report"] == "run.map"
    assert all(len(line) <= 60 for line in report.text(60).splitlines())


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (987, "987"), (999, "999"), (1000, "1.0k"), (5199, "5.2k"), (99_949, "99.9k"),
     (123_456, "123k"), (999_700, "1.0M"), (4_500_000, "4.5M"), (10**13, "10000G")],
)  # fmt: skip
def test_counts_in_boxes_are_short(count, text):
    assert short(count) == text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_opens_the_map_without_complaint(report, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    (path,) = report.write(tmp_path / "map.html")
    page = Shown(dumped(path, tmp_path))
    assert [section["id"] for section in page.all("section")] == [
        "map", "places", "steps", "harvested", "missing", "sources", "notes",
    ]  # fmt: skip
    assert len(page.all("svg")) == 1
