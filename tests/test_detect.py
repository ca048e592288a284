"""A source recognises what it reads, and nothing else."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
import small_inputs
from hypothesis import example, given, settings
from hypothesis import strategies as st

import harvest
from harvest import SourceError
from harvest.pipeline.preview import first_rows
from harvest.plugins.detect import LOOKED_AT, best
from harvest.plugins.registry import manager

PLUGINS = manager()
SOURCES = sorted(small_inputs.MAKERS)
JOB = {
    "job_id": 1, "name": "a", "association": {"id": 1}, "steps": [],
    "time": {"elapsed": 60, "submission": 1700000000, "start": 1700000100, "end": 1700000160},
    "state": {"current": "COMPLETED", "reason": "None"},
}  # fmt: skip
FILES = {
    **{
        f"{source}/{name}": (name, data)
        for source, make in small_inputs.MAKERS.items()
        for name, data in make(1).items()
    },
    "slurm/json": ("sacct.json", json.dumps({"meta": {}, "jobs": [JOB]}).encode()),
    "slurm/csv": ("jobs.csv", b"JobID,JobName,State\n1,a,COMPLETED\n2,b,FAILED\n"),
    "mofka-dask/script": ("job.sh", b"#!/bin/sh\n#PBS -q debug\n"),
    "mofka-dask/settings": ("config.json", b'{"a": 1}'),
    "nobody/notes": ("NOTES", b"what was done on Monday\n"),
    "nobody/binary": ("core.bin", b"\0\1\2"),
}
"""Files of every source, and of none, each as name and content."""

PLACES = ("", "deeper", "one/two/three")


def reads_rows(source: str, directory: Path) -> bool:
    """Whether reading the directory with this source gives a row."""
    cls = PLUGINS.source(source)
    try:
        found = first_rows(cls(str(directory), cls.Config()), 1)
    except SourceError:
        return False
    return any(first.rows.num_rows for first in found.tables.values())


def laid_out(directory: Path, files: dict[str, str]) -> None:
    """Write files by their keys, each at its place below a directory."""
    for key, place in files.items():
        name, data = FILES[key]
        (directory / place).mkdir(parents=True, exist_ok=True)
        (directory / place / name).write_bytes(data)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from(sorted(FILES)), st.sampled_from(PLACES), max_size=6))
@example({"slurm/json": ""})
@example({"slurm/csv": "", "nobody/notes": ""})
@example({"gpfs/all.list": "", "slurm/a.txt": "", "nobody/binary": ""})
@example({"mofka-dask/worker.csv": "one/two/three"})
@example({"mofka-dask/settings": ""})
def test_a_source_recognises_a_directory_if_and_only_if_it_reads_rows_there(files):
    # given files of some sources, at some depths, beside files of no source
    with tempfile.TemporaryDirectory() as folder:
        laid_out(Path(folder), files)

        # when all sources are asked, then those that read rows there say yes, and no other does
        recognised = {found.source for found in best(Path(folder), PLUGINS)}
        assert recognised == {name for name in SOURCES if reads_rows(name, Path(folder))}


@pytest.mark.parametrize("source", SOURCES)
def test_a_directory_of_its_own_files_alone_is_recognised_for_sure(source, tmp_path):
    small_inputs.write(tmp_path, 1)

    first = best(tmp_path / source, PLUGINS)[0]

    assert first.source == source
    assert first.confidence >= 0.9


def test_the_share_of_the_files_says_how_sure_it_is(tmp_path, monkeypatch):
    # given one dump among three files
    laid_out(tmp_path, {"slurm/csv": "", "nobody/notes": "", "nobody/binary": ""})

    monkeypatch.chdir(tmp_path.parent)
    (found,) = best(Path(tmp_path.name), PLUGINS)

    # then as sure as of the file itself, times a third
    (alone,) = best(tmp_path / "jobs.csv", PLUGINS)
    assert found.confidence == pytest.approx(alone.confidence / 3)
    assert found.reason == f"1 of 3 files: {alone.reason} (jobs.csv)"


@pytest.mark.slow
def test_what_lies_behind_many_other_files_is_found_too(tmp_path):
    for number in range(LOOKED_AT + 5):
        (tmp_path / f"{number:05d}").touch()
    laid_out(tmp_path, {"slurm/csv": ""})

    (found,) = best(tmp_path, PLUGINS)

    assert found.source == "slurm"
    assert found.reason.startswith(f"1 of {LOOKED_AT + 6:,} files: ")
    assert found.reason.endswith("(jobs.csv)")


def test_a_directory_that_a_source_refuses_as_a_whole_is_still_recognised(tmp_path):
    # given a split list of which a part is missing: reading says so
    name, data = FILES["gpfs/all.list"]
    (tmp_path / f"{name}.part-1-of-2").write_bytes(data)

    (found,) = best(tmp_path, PLUGINS)

    assert found.source == "gpfs"
    with pytest.raises(SourceError, match=r"1 of the 2 parts .* missing"):
        harvest.run(str(tmp_path), f"parquet:{tmp_path.parent / 'out'}", plugins=PLUGINS)
