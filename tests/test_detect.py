"""A source recognises what it reads, and nothing else."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import small_inputs
from commands import harvest_here
from hypothesis import example, given
from hypothesis import strategies as st

import harvest
from harvest import Detection, Partition, ReadContext, Source, SourceError
from harvest.commands.inputs import Reader
from harvest.plugins.registry import manager
from harvest.recipes.survey import Known, best, survey
from harvest_look.preview import first_rows

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
    "pbs/json": ("qstat.json", b'{"pbs_version": "20", "pbs_server": "s", "Jobs": {"1.s": {}}}'),
    "mofka-dask/script": ("job.sh", b"#!/bin/sh\n#PBS -q debug\n"),
    "mofka-dask/settings": ("config.json", b'{"a": 1}'),
    "nobody/notes": ("NOTES", b"what was done on Monday\n"),
    "nobody/binary": ("core.bin", b"\0\1\2"),
}
"""Files of every source, and of none, each as name and content."""

PLACES = ("", "deeper", "one/two/three")


def recognised(directory: Path) -> list[Known]:
    """What the sources see in a directory, by strong signs and by weak ones."""
    found = survey(directory, PLUGINS)
    return [*found.known, *found.doubtful]


def reads_rows(source: str, location: Path) -> bool:
    """Whether reading the location with this source gives a row."""
    cls = PLUGINS.source(source)
    try:
        found = first_rows(Reader(cls(str(location), cls.Config())), 1)
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
@given(st.dictionaries(st.sampled_from(sorted(FILES)), st.sampled_from(PLACES), max_size=6))
@example({"slurm/json": ""})
@example({"slurm/csv": "", "nobody/notes": ""})
@example({"gpfs/all.list": "", "slurm/a.txt": "", "nobody/binary": ""})
@example({"mofka-dask/worker.csv": "one/two/three"})
@example({"mofka-dask/settings": ""})
@example({"pbs/json": "", "slurm/json": "", "pbs/20240419": ""})
def test_a_source_reads_rows_at_each_place_that_is_named_and_all_who_read_rows_are_seen(files):
    # given files of some sources, at some depths, beside files of no source
    with tempfile.TemporaryDirectory() as folder:
        laid_out(Path(folder), files)

        # when all sources are asked
        found = recognised(Path(folder))

        # then each reads rows at its places, and whoever reads rows of the whole is among them
        for known in found:
            assert all(reads_rows(known.source, place) for place in known.locations)
        assert {known.source for known in found} >= {
            name for name in SOURCES if reads_rows(name, Path(folder))
        }


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with a directory for each source, which holds its own files alone."""
    folder = tmp_path_factory.mktemp("inputs")
    small_inputs.write(folder, 1)
    return folder


@pytest.mark.parametrize("source", SOURCES)
def test_a_directory_of_its_own_files_alone_is_recognised_for_sure(source, inputs):
    (first,) = survey(inputs / source, PLUGINS).known

    assert first.source == source
    assert first.confidence >= 0.9


def test_files_that_nobody_recognises_are_not_given_to_a_source(tmp_path):
    # given one dump among three files
    laid_out(tmp_path, {"slurm/csv": "", "nobody/notes": "", "nobody/binary": ""})

    (found,) = recognised(tmp_path)

    # then the dump is named, and as sure as if it were alone
    (alone,) = best(tmp_path / "jobs.csv", PLUGINS)
    assert found.confidence == alone.confidence
    assert found.locations == (tmp_path / "jobs.csv",)


@pytest.mark.parametrize("more", [0, 1])
def test_a_directory_with_very_many_dumps_is_named_as_a_whole_though_it_holds_another_file(
    tmp_path, monkeypatch, more
):
    # given as many dumps as are named one by one beside a stranger, or one more
    monkeypatch.setattr("harvest.recipes.survey.NAMED_AT_MOST", 30)
    dumps = [tmp_path / f"{number:02}.csv" for number in range(30 + more)]
    for dump in dumps:
        dump.write_bytes(FILES["slurm/csv"][1])
    laid_out(tmp_path, {"nobody/notes": ""})

    (found,) = recognised(tmp_path)

    expected = ((tmp_path,), 1) if more else (tuple(dumps), 0)
    assert (found.locations, found.others) == expected


def test_a_directory_that_a_source_refuses_as_a_whole_is_still_recognised(tmp_path):
    # given a split list of which a part is missing: reading says so
    name, data = FILES["gpfs/all.list"]
    (tmp_path / f"{name}.part-1-of-2").write_bytes(data)

    (found,) = recognised(tmp_path)

    assert found.source == "gpfs"
    with pytest.raises(SourceError, match=r"1 of the 2 parts .* missing"):
        harvest.run(str(tmp_path), f"parquet:{tmp_path.parent / 'out'}", plugins=PLUGINS)


def test_a_directory_that_a_source_recognises_as_such_is_its_own(tmp_path):
    """Given a format whose files mean nothing alone, and a source that knows the directory."""
    (tmp_path / "a.store" / "chunks").mkdir(parents=True)
    for name in ("a.store/.head", "a.store/chunks/0.0"):
        (tmp_path / name).write_bytes(b"\0")
    (tmp_path / "other").write_bytes(b"\0")

    found = survey(tmp_path, harvest.plugins_of(Stores))

    (known,) = found.known
    assert (known.locations, known.files) == ((tmp_path / "a.store",), 2)
    assert [group.example.name for group in found.unknown] == ["other"]


class Stores(Source):
    """Reads directories whose names end in .store."""

    name = "stores"

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        return Detection(0.9, "its name") if path.is_dir() and path.suffix == ".store" else None

    def plan(self) -> list[Partition]:
        files = [str(p) for p in sorted(Path(self.location).rglob("*")) if p.is_file()]
        if Path(self.location).suffix != ".store":
            raise SourceError("not a store", where=self.location, remedy="name one")
        return [Partition(id="all", origin=self.location, inputs=tuple(files))]

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        return iter(())


def inputs_of(result):
    return {path for planned in result.plan.partitions for path in planned.partition.inputs}


@pytest.mark.parametrize("source", SOURCES)
def test_detection_and_a_run_agree_how_deep_a_source_looks(source, inputs, tmp_path):
    # given files of a source in the directory that is named, and in one below it
    for place in ("in", "in/sub"):
        shutil.copytree(inputs / source, tmp_path / place, dirs_exist_ok=True)

    # when a run is planned for all places that detection names, or for the directory alone
    known = next(k for k in survey(tmp_path / "in", PLUGINS).known if k.source == source)
    everywhere, here = (
        harvest.run(sources, f"jsonl:{tmp_path / 'out'}", dry_run=True)
        for sources in (
            [f"{source}:{place}" for place in known.locations],
            [f"{source}:{tmp_path / 'in'}"],
        )
    )

    # then the former reads the files below, and the latter does so, too, or says that it does not
    assert not [said for said in everywhere.choices if "does not read so deep" in said]
    assert inputs_of(everywhere) >= inputs_of(here) > set()
    said = [each for each in here.choices if "does not read so deep" in each]
    assert (inputs_of(here) < inputs_of(everywhere)) == bool(said)
    assert all("in/sub/" in each for each in said)


def test_where_a_source_finds_its_files_is_said(tmp_path):
    for name in ("a.csv", "sub/b.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(FILES["slurm/csv"][1])

    done = harvest_here("detect", str(tmp_path), cwd=tmp_path)

    name = tmp_path.name
    assert f"2 files at {name}, {name}/sub: header of sacct" in " ".join(done.stdout.split())
