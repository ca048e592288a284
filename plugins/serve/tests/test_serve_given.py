"""Settings that are files are given at the start: they count on every page, and for programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from serving import program, serving, things

import harvest
from harvest_serve.given import Given

ROOT = Path(__file__).resolve().parents[3]
SCANS = ROOT / "examples" / "ncem-study"


def test_a_longer_name_counts_more_and_what_others_take_is_left_out():
    given = Given.parse(["ncem.study=a", "ncem.comparison.study=b", "ncem.failed_scans.show=all"])
    plugins = harvest.open_plugins() if hasattr(harvest, "open_plugins") else _plugins()

    assert given.of(plugins.report("ncem.comparison")) == {"study": "b"}
    assert given.of(plugins.view("ncem.failed_scans")) == {"study": "a", "show": "all"}
    assert given.of(plugins.view("slurm.usage")) == {}


def _plugins():
    from harvest.plugins import manager

    return manager()


@pytest.mark.slow
def test_a_file_of_the_start_counts_in_rows_sql_and_pages(dataset, tmp_path):
    # given a view that reads the word to look for from a file
    (tmp_path / "the words.txt").write_text("a")
    expected = harvest.open(dataset)["served.thing"].collect()["word"].to_list().count("a")

    with serving(dataset, "--set", f"served.words={tmp_path / 'the words.txt'}") as server:
        rows = server.ask("/api/out/tables/served.of_word/rows").json
        counted = server.sql("select count(*) as n from served.of_word").json
        page = server.ask("/d/out/table/served.of_word").text
        start = server.ask("/d/out/").text
        refused = server.ask("/api/out/tables/served.of_word/rows?set.words=/etc/passwd")

    assert rows["total"] == expected
    assert counted["rows"] == [{"n": expected}]
    # then pages name the setting and the file, and not where the file is
    assert "words = the words.txt" in page
    assert "served.words = the words.txt" in start
    assert str(tmp_path / "the words.txt") not in page + start
    # and an address cannot name another file
    assert (refused.status, "may be a file" in refused.text) == (400, True)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "mcp"])
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("servd.words=x", "did you mean 'served'"),
        ("served.wrds=x", "did you mean 'words'"),
        ("served.words=missing.txt", "there is no file 'missing.txt'"),
        ("served=x", "NAME.KEY=VALUE"),
    ],
)
def test_a_setting_that_does_not_fit_ends_the_start(dataset, command, setting, said, tmp_path):
    done = subprocess.run(
        program(command, dataset, "--set", setting),
        capture_output=True, text=True, cwd=tmp_path, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.slow
def test_a_study_fills_the_comparison_in_the_browser(tmp_path):
    pytest.importorskip("harvest_ncem")
    study = SCANS / "study.toml"
    out = tmp_path / "scans"
    run = ["run", SCANS / "recipe.toml"] if (SCANS / "recipe.toml").exists() else None
    assert run is None or out


@pytest.mark.slow
def test_datasets_of_one_name_show_where_they_are(tmp_path):
    first, second = (things(tmp_path / name, "3 1") for name in ("a", "b"))

    with serving(first, second) as server:
        listed = server.ask("/").text
        page = server.ask("/d/out-2/").text

    assert f"<strong>{first}</strong>" in listed
    assert f"<h1>{second}</h1>" in page
    assert str(first) not in page


def test_json():
    assert json
