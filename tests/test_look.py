"""A directory that nobody described, and a dataset that somebody else made: what is in them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import small_inputs

import harvest
from harvest.errors import SourceError
from harvest.pipeline.survey import survey
from harvest.plugins.registry import manager

SACCT = "JobID|State|User\n1|COMPLETED|ada\n2|FAILED|tim\n"


def said(*words: object, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harvest", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=where,
    )


def test_every_source_is_found_in_a_tree_that_holds_inputs_of_all(tmp_path):
    small_inputs.write(tmp_path / "in", 1)

    found = survey(tmp_path / "in", manager())

    assert {known.source for known in found.known} == set(small_inputs.MAKERS)
    for known in found.known:
        home = tmp_path / "in" / known.source
        assert all(
            place in (home.parent, home) or home in place.parents for place in known.locations
        )


def test_the_command_that_it_names_harvests_all_of_it(tmp_path):
    """The places that are named give the rows that each source's own directory gives."""
    small_inputs.write(tmp_path / "in", 1)
    zone = {"slurm": {"timezone": "UTC"}}
    harvest.run(
        small_inputs.sources(tmp_path / "in"), f"parquet:{tmp_path / 'a'}", settings=zone, workers=1
    )

    places = [str(endpoint) for endpoint in survey(tmp_path / "in", manager()).endpoints]
    harvest.run(places, f"parquet:{tmp_path / 'b'}", settings=zone, workers=1)

    assert harvest.open(tmp_path / "b").record_types == harvest.open(tmp_path / "a").record_types


def test_files_are_counted_with_their_bytes_and_what_nobody_knows_is_named(tmp_path):
    (tmp_path / "logs" / "old").mkdir(parents=True)
    for place in ("logs/may.txt", "logs/old/april.txt"):
        (tmp_path / place).write_text(SACCT)
    (tmp_path / "thesis.tex").write_text("words")

    found = survey(tmp_path, manager())

    (slurm,) = found.known
    assert (slurm.source, slurm.files, slurm.size_bytes) == ("slurm", 2, 2 * len(SACCT))
    assert [place.name for place in slurm.locations] == ["may.txt", "old"]
    (other,) = found.unknown
    assert (other.ending, other.files, other.size_bytes, other.example.name) == (
        ".tex",
        1,
        5,
        "thesis.tex",
    )


def test_a_place_with_another_source_s_files_is_not_given_away_whole(tmp_path):
    (tmp_path / "jobs.txt").write_text(SACCT)
    (tmp_path / "128x128.csv").write_text("id,slurm_id,elapsed\n1,2,00:01:00\n")

    found = {known.source: known.locations for known in survey(tmp_path, manager()).known}

    assert found["slurm"] == (tmp_path / "jobs.txt",)


def test_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(SourceError, match="no such file or directory"):
        survey(tmp_path / "nowhere", manager())


def test_the_command_line_shows_a_command_that_works_and_runs_it(tmp_path):
    (tmp_path / "my logs").mkdir()
    (tmp_path / "my logs" / "sacct.txt").write_text(SACCT)

    shown = said("look", "my logs", where=tmp_path).stdout
    command = shown.partition("to harvest all of it:")[2].partition("then:")[0]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["harvest", "run"]
    assert said(*words[1:], where=tmp_path).returncode == 0
    done = said("look", "my logs", "--run", "other", where=tmp_path)

    assert done.returncode == 0, done.stderr
    assert [harvest.open(tmp_path / name).record_types for name in ("out", "other")] == [
        {"slurm.job": 2},
        {"slurm.job": 2},
    ]
    assert "  harvest report slurm.summary out" in shown.splitlines()


def test_a_tree_that_nobody_knows_ends_with_1(tmp_path):
    (tmp_path / "a.tex").write_text("words")

    done = said("look", tmp_path)

    assert done.returncode == 1
    assert "no installed source recognises anything" in done.stdout
    assert json.loads(said("look", tmp_path, "--json").stdout)["unknown"][0]["files"] == 1


def test_a_dataset_says_what_it_holds_and_what_can_be_asked_of_it(tmp_path):
    (tmp_path / "sacct.txt").write_text(SACCT + "?|?\n")
    harvest.run([f"slurm:{tmp_path / 'sacct.txt'}"], f"parquet:{tmp_path / 'out'}", workers=1)

    document = json.loads(said("show", tmp_path / "out", "--json").stdout)
    shown = said("show", tmp_path / "out").stdout

    assert (document["rows"], document["inputs"], document["rejects"]) == (2, 1, 1)
    (kind,) = document["record_types"]
    assert (kind["name"], kind["rows"], kind["sources"]) == ("slurm.job", 2, ["slurm"])
    files = (tmp_path / "out" / "slurm.job").iterdir()
    assert document["size_bytes"] == sum(file.stat().st_size for file in files)
    assert set(document["views"]) == set(harvest.open(tmp_path / "out").views())
    assert "2 rows from 1 input" in shown
    assert "1 input unit could not be read: harvest rejects" in shown
    assert f"  harvest report slurm.summary {tmp_path / 'out'}" in shown.splitlines()
