"""Any file of a dataset lost or damaged: it is found, mended or given up, and all is well.

What has a copy or an input is as before.  A kept state and the record of a run have neither; they
are given up when the user says so, and nothing else is.
"""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from commands import harvest_here
from datasets import Small, change_a_byte, dump
from night import NIGHT

from harvest.dataset.repair import repair
from harvest.errors import DatasetError
from harvest.pipeline.prepare import prepare_sources
from harvest.pipeline.record import last_day
from harvest.pipeline.rollback import keep_runs, roll_back
from harvest.plugins.registry import manager
from harvest.recipes.recipe import Endpoint, Recipe


def rows(small: Small) -> list[tuple[str, int, int]]:
    """File, line and job of each row, read without harvest."""
    if small.form == "parquet":
        paths = sorted(small.location.glob("slurm.job/*.parquet"))
        found = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    elif small.form == "jsonl":
        texts = [path.read_text() for path in sorted(small.location.glob("slurm.job/*.jsonl"))]
        found = [json.loads(line) for text in texts for line in text.splitlines()]
    else:
        text = gzip.decompress(small.location.read_bytes()).decode()
        events = [json.loads(line) for line in text.splitlines()]
        found = [{**event, **event["data"]} for event in events]
    return sorted((Path(r["origin"]).name, r["position"], int(r["job_id"])) for r in found)


DUMPS = [
    {"a": dump(1, 2), "b": dump(3, damaged=1)},
    {"c": dump(4, 5), "b": dump(3, 7, damaged=2)},
    {"a": dump(1, 2, 9)},
    {"d": dump(10, 11), "c": dump(4)},
]


@pytest.fixture(scope="module", params=["parquet", "jsonl", "gz"])
def made(request: Any, tmp_path_factory: Any) -> tuple[Small, dict[str, Any]]:
    """A dataset of four runs, the states of two before the last kept; the rows of each state."""
    small = Small(tmp_path_factory.mktemp("made") / "now", request.param)
    small.folder.mkdir()
    states = {}
    for dumps in DUMPS:
        small.write(**dumps).harvest(keep_runs=2)
        states[small.manifest().run] = rows(small)
    assert [len(found) for found in states.values()] == [3, 6, 7, 8]
    shutil.copytree(small.folder, small.folder.with_name("whole"))
    return small, states


def put_back(small: Small) -> None:
    """Dataset and inputs as they were made."""
    shutil.rmtree(small.folder)
    shutil.copytree(small.folder.with_name("whole"), small.folder)


def in_state(name: str) -> Callable[[Small], list[Path]]:
    return lambda small: sorted((small.state / name).iterdir())


def in_history(kept: bool) -> Callable[[Small], list[Path]]:
    def find(small: Small) -> list[Path]:
        last = small.manifest().run
        return [path for path in in_state("history")(small) if (path.stem != last) == kept]

    return find


FILES: dict[str, Callable[[Small], list[Path]]] = {
    "the manifest": lambda small: [small.state / "manifest.json"],
    "its copy": in_history(kept=False),
    "a segment": in_state("segments"),
    "a copy of a segment": in_state("copies"),
    "rejects": in_state("rejects"),
    "rows": lambda small: small.files(),
    "the manifest of a kept state": in_history(kept=True),
    "a file of a kept state": in_state("kept"),
    "the record of a run": in_state("runs"),
}
LOST = ("the manifest of a kept state", "a file of a kept state", "the record of a run")
"""What has neither copy nor input."""


DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "cut in half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "one byte changed": change_a_byte,
}


def verify(small: Small, *words: str) -> tuple[int, str]:
    done = harvest_here("verify", small.location, *words)
    return done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("what", FILES)
def test_a_dataset_can_be_made_whole(
    made: tuple[Small, dict[str, Any]], what: str, damage: str
) -> None:
    small, states = made
    put_back(small)
    expected = rows(small)
    for path in FILES[what](small)[: None if NIGHT else 1]:
        # given a file that is not as it was written
        put_back(small)
        listed = path.stem in (small.state / "manifest.json").read_text()
        DAMAGES[damage](path)

        # then it is found, and mended, or given up where that is said
        code, said = verify(small)
        assert code == 1
        if what == "the manifest" or (what == "a segment" and listed):
            # a run that took the dataset for empty would remove its files
            with pytest.raises(DatasetError, match=r"manifest is (damaged|missing).*--repair"):
                small.harvest(force=True)
        assert verify(small, "--repair")[0] == (1 if what in LOST else 0)
        if what in LOST:
            assert "harvest verify --repair --give-up forgets what is lost" in said
            assert verify(small, "--repair", "--give-up")[0] == 0
        assert verify(small)[0] == 0
        assert rows(small) == expected

        # and each state that is kept can be gone back to; a run goes on from there
        kept = small.manifest().kept
        assert kept or what in LOST
        keep_runs(small.open().sink, 9)
        for run in kept:
            roll_back(small.open().sink, run)
            assert rows(small) == states.get(run, expected)  # of a repair: the rows before it
        small.harvest()
        assert rows(small) == expected
        assert verify(small)[0] == 0


# --- records of runs ------------------------------------------------------------------------------


@pytest.fixture
def two_runs(tmp_path: Path) -> Small:
    small = Small(tmp_path).write(a=dump(1))
    small.harvest()
    small.write(b=dump(2)).harvest()
    return small


def record_of(small: Small, number: int) -> Path:
    return small.state / "runs" / f"{small.manifest().runs[number]}.json"


def test_a_changed_byte_of_a_record_is_found_and_never_acted_upon(two_runs: Small) -> None:
    # given another letter in a setting, so that it still reads as a record
    path = record_of(two_runs, 0)
    data = path.read_bytes()
    assert data.count(b'"UTC"') == 1
    path.write_bytes(data.replace(b'"UTC"', b'"UTD"'))

    assert two_runs.open().verify() == [f"{path}: the record of a run is damaged (checksum)"]
    assert two_runs.open().runs()[0]["problem"].startswith(str(path))


def test_a_record_is_given_up_only_when_told_and_still_listed(two_runs: Small) -> None:
    path = record_of(two_runs, 0)
    path.unlink()
    before = two_runs.manifest()

    done = repair(two_runs.location)
    assert [problem.text for problem in done.left] == [f"{path}: the record of a run is missing"]
    assert (done.given_up, two_runs.manifest()) == ((), before)
    done = repair(two_runs.location, give_up=True)

    assert (done.left, done.given_up) == ([], (f"the record of run {path.stem} is given up",))
    assert two_runs.open().verify() == []
    first, second = two_runs.open().runs()
    assert "the record of a run was lost, and given up" in first["problem"]
    assert second["problem"] is None
    # nothing is made up in its place
    with pytest.raises(DatasetError, match="was lost, and given up"):
        two_runs.open().harvested_with("slurm", "timezone")


def test_after_a_record_was_given_up_a_run_since_the_last_looks_at_all(two_runs: Small) -> None:
    # given that the last record is lost, which may have been that of a rollback
    uses = prepare_sources(Recipe(sources=(Endpoint("slurm", str(two_runs.inputs)),)), manager())
    sink = two_runs.open().sink
    assert last_day(uses, [sink]) is not None
    record_of(two_runs, 1).unlink()
    with pytest.raises(DatasetError, match="record of a run is missing"):
        last_day(uses, [sink])

    repair(two_runs.location, give_up=True)

    assert last_day(uses, [sink]) is None


@pytest.mark.slow
def test_damaged_rows_whose_record_is_lost_are_said_and_dropped_only_when_told(
    tmp_path: Path,
) -> None:
    # given rows of which nobody knows what they were read from, and others that are damaged, too
    small = Small(tmp_path, "jsonl").write(a=dump(1))
    small.harvest()
    other = small.inputs.rename(tmp_path / "other")
    small.write(b=dump(2)).harvest()
    assert other.is_dir()
    record_of(small, 0).unlink()
    for path in small.files():
        change_a_byte(path)

    # when they are mended, then the others are read again, and these left
    done = repair(small.location, give_up=True)
    ((origin, reason),) = done.gone
    assert Path(origin).name == "a.txt"
    assert "the record of a run is missing" in reason
    assert [Path(part.origin).name for part in done.result.parts] == ["b.txt"]
    assert len(done.left) == 1

    # the state that is kept had them, too
    done = repair(small.location, deleted="drop")
    assert small.jobs() == [2]
    assert all(problem.lost for problem in done.left)
    assert repair(small.location, give_up=True).left == []
    assert small.jobs() == [2]
    assert small.open().verify() == []


def test_a_question_that_needs_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    small = Small(tmp_path, "parquet").write(a=dump(1))
    small.harvest()
    small.files()[0].unlink()

    done = harvest_here("view", "slurm.usage", small.location)

    assert done.returncode == 1
    assert "No such file" in done.stderr
    assert "; `harvest verify` names the missing files" in done.stderr


@pytest.mark.parametrize("damage", [Path.unlink, change_a_byte])
def test_rows_of_a_lost_shared_file_are_given_up_when_told(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    # given a file with the rows of two inputs, of which one is gone
    small = Small(tmp_path, "parquet").write(a=dump(1), b=dump(2))
    small.harvest()
    (small.inputs / "b.txt").unlink()
    damage(*small.files())

    with pytest.raises(DatasetError, match=r"missing or damaged.*--deleted drop"):
        repair(small.location)

    assert repair(small.location, deleted="drop").left == []
    assert small.jobs() == [1]


# --- kept states ----------------------------------------------------------------------------------


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Small, Path]:
    """A dataset with a kept state, and a file of rows that it shares with the state in force."""
    small = Small(tmp_path, "jsonl").write(a=dump(1), b=dump(2))
    small.harvest(keep_runs=2)
    small.write(b=dump(3)).harvest()
    (path,) = (path for path in small.files() if path.name.startswith("a"))
    return small, path


def test_states_that_share_damaged_rows_are_whole_where_these_are_read_as_they_were(
    shared: tuple[Small, Path],
) -> None:
    small, path = shared
    first, second = small.manifest().runs
    change_a_byte(path)

    done = repair(small.location)

    assert (done.left, done.given_up) == ([], ())
    assert small.manifest().kept == (first, second)
    for run, jobs in ((first, [1, 2]), (second, [1, 3])):
        roll_back(small.open().sink, run)
        assert small.jobs() == jobs


def test_states_that_share_damaged_rows_are_given_up_where_these_are_others_now(
    shared: tuple[Small, Path],
) -> None:
    # given that the input of the damaged rows has changed
    small, path = shared
    first, second = small.manifest().runs
    change_a_byte(path)
    small.write(a=dump(7))

    # when they are read again, then the state that is left is not kept, which is said
    done = repair(small.location)
    assert small.jobs() == [7, 3]
    assert done.given_up == (
        f"the state that run {second} left is not kept: a damaged file of it is lost",
    )
    # and an older one is given up when told
    assert [problem.state for problem in done.left] == [first]
    done = repair(small.location, give_up=True)
    assert done.given_up == (f"the state that run {first} left is not kept any more",)
    assert (done.left, small.manifest().kept) == ([], ())
    assert small.jobs() == [7, 3]
