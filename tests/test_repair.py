"""Damaged files and manifests, and rejects after a fix: named, and nothing else is read again."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import attrs
import crash
import polars as pl
import pytest
from commands import harvest_here
from datasets import EACH_FORM, Small, dump

from harvest.dataset.repair import problem_of_manifest, repair
from harvest.errors import DatasetError
from harvest.pipeline.rollback import roll_back
from harvest.plugins.registry import PluginManager
from harvest.storage.history import remember
from harvest.toolkit.plain import checksum


@pytest.fixture(params=EACH_FORM)
def small(tmp_path: Path, request: Any) -> Small:
    """Three dumps, in two commits."""
    small = Small(tmp_path, request.param).write(a=dump(1, 2), b=dump(3, damaged=1))
    small.harvest()
    small.write(c=dump(4, 5))
    small.harvest()
    return small


def flip(path: Path, at: int = -20) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x20
    path.write_bytes(data)


DAMAGES = {
    "a flipped bit": flip,
    "cut off": lambda path: os.truncate(path, path.stat().st_size - 5),
    "emptied": lambda path: os.truncate(path, 0),
    "longer": lambda path: path.write_bytes(b"{}\n" + path.read_bytes()),
    "removed": lambda path: path.unlink(),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_and_just_its_inputs_are_read_again(
    damage: str, small: Small
) -> None:
    path = small.files()[-1]
    rows, rejects = small.jobs(), list(small.open().rejects())
    whole = {part.key for part in small.manifest()}
    DAMAGES[damage](path)

    problems = small.open().verify()
    assert problems
    assert all(str(path) in problem for problem in problems)
    done = repair(small.location)

    assert done.left == []
    assert done.result is not None
    assert small.jobs() == rows
    assert list(small.open().rejects()) == rejects
    assert {part.key for part in small.manifest()} == whole
    assert small.open().verify() == []
    # of the files that lie apart, one was damaged: the inputs of others were left alone
    if len(small.files()) > 1:
        assert len(done.result.parts) < len(whole)
    assert small.open().runs()[-1]["action"] == "repair"
    # what was read again is as it was before the damage, and so is the state that is kept
    assert small.manifest().kept == (small.manifest().runs[1],)
    roll_back(small.open().sink, small.manifest().runs[1])
    assert small.jobs() == rows
    assert small.open().verify() == []


@pytest.mark.parametrize("what", ["manifest", "segment"])
def test_what_differs_by_one_byte_from_its_checksum_is_not_used_and_its_copy_takes_its_place(
    what: str, small: Small
) -> None:
    # given a manifest that could be read all the same, or a segment that it lists
    path, seen = small.state / "manifest.json", small.seen()
    if what == "segment":
        path = small.state / "segments" / small.manifest().parts.segments[-1].entry.file
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"parts"', b'"carts"', 1))
    if what == "segment":
        flip(path)

    # then nothing is done with the dataset
    for attempt in (lambda: small.open().parts, lambda: small.harvest(force=True)):
        with pytest.raises(DatasetError, match=r"manifest is damaged \(checksum\).*--repair"):
            attempt()
    assert "manifest is damaged" in str(problem_of_manifest(small.location))
    # and it is mended
    assert repair(small.location).restored
    assert path.read_bytes() == whole
    assert small.seen() == seen


def test_damage_in_one_piece_of_a_consolidated_file_costs_that_piece(tmp_path: Path) -> None:
    small = Small(tmp_path, "file").write(a=dump(1, 2), b=dump(3), c=dump(4))
    small.harvest()
    before = small.seen()
    data = small.location.read_bytes()
    small.location.write_bytes(data.replace(b'"job 3"', b'"jab 3"'))

    (problem,) = small.open().verify()
    assert "bytes" in problem
    done = repair(small.location)

    assert done.result is not None
    assert [Path(part.origin).name for part in done.result.parts] == ["b.txt"]
    assert small.seen() == before


def test_a_shared_file_is_named_once_and_all_its_inputs_are_read_again(tmp_path: Path) -> None:
    small = Small(tmp_path).write(a=dump(1), b=dump(2), c=dump(3))
    small.harvest()
    (path,) = small.files()
    flip(path, 30)

    (problem,) = small.open().verify()
    assert problem == f"{path}: its content has changed (checksum)"
    assert repair(small.location).left == []
    assert small.jobs() == [1, 2, 3]


def test_verifying_says_what_repairing_cannot_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a dataset whose source's plugin is absent
    small = Small(tmp_path).write(a=dump(1), b=dump(2))
    small.harvest()
    without = PluginManager(disabled="slurm")
    monkeypatch.setattr("harvest.dataset.dataset.manager", lambda: without)

    # when it is verified, and repaired
    done = harvest_here("verify", small.location)
    again = repair(small.location, plugins=without)

    # then the type that cannot be checked is named with what to install, and nothing is promised
    problem, last = done.stdout.splitlines()
    assert problem.startswith("rows of slurm.job are not checked: no installed plugin declares")
    assert "install hpc-harvest-slurm" in problem
    assert last == "1 problem; harvest verify --repair cannot fix this"
    assert ([left.text for left in again.left], again.result) == ([problem], None)


def test_a_manifest_without_a_whole_copy_is_said_to_be_lost(small: Small) -> None:
    for path in (small.state / "manifest.json", *(small.state / "history").iterdir()):
        flip(path)
    with pytest.raises(DatasetError, match="it has no intact copy"):
        repair(small.location)


def test_an_older_copy_of_the_manifest_is_gone_back_to_only_when_told(small: Small) -> None:
    # given that the manifest and its copy are damaged, but not that of the state before
    runs = small.manifest().runs
    seen = small.seen()
    flip(small.state / "manifest.json")
    flip(small.state / "history" / f"{runs[-1]}.json")

    with pytest.raises(DatasetError, match=f"copy is that of run {runs[0]}") as caught:
        repair(small.location)
    assert "--give-up" in str(caught.value)
    assert small.seen() == seen
    assert repair(small.location, give_up=True).restored

    assert small.open().verify() == []
    small.harvest()
    assert small.jobs() == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_what_cannot_be_read_again_is_said_and_dropped_only_when_told(small: Small) -> None:
    # given damage in the rows of an input that is gone
    part = next(part for part in small.manifest() if part.origin.endswith("c.txt"))
    (file,) = part.files
    (small.inputs / "c.txt").unlink()
    if file.offset is None:
        (small.location / file.path).unlink()
    else:
        with small.location.open("r+b") as stream:
            stream.seek(file.offset + 15)
            stream.write(b"#")

    done = repair(small.location)
    assert [Path(origin).name for origin, _ in done.gone] == ["c.txt"]
    assert done.left
    assert done.result is None

    done = repair(small.location, deleted="drop")
    assert done.left == []
    assert small.jobs() == [1, 2, 3]
    assert small.open().verify() == []


def test_a_file_that_does_not_belong_is_named(tmp_path: Path) -> None:
    small = Small(tmp_path).write(a=dump(1), b=dump(2))
    small.harvest()
    (path,) = small.files()
    shutil.copy(path, path.with_name("copy.parquet"))

    (problem,) = small.open().verify()
    assert str(path.with_name("copy.parquet")) in problem
    assert "does not belong to the dataset" in problem


def test_a_folder_of_another_form_is_named(tmp_path: Path) -> None:
    # given a Delta table that somebody has laid over a dataset's files
    small = Small(tmp_path).write(a=dump(1))
    small.harvest()
    log = small.files()[0].parent / "_delta_log"
    log.mkdir()

    (problem,) = small.open().problems()
    done = repair(small.location, give_up=True)

    assert problem.text.startswith(f"{log}: a folder that is not the dataset's")
    assert [left.text for left in done.left] == [problem.text]
    assert log.is_dir()


@pytest.mark.slow
def test_files_that_a_killed_run_published_are_named_and_removed(tmp_path: Path) -> None:
    small = Small(tmp_path, "jsonl").write(a=dump(1))
    small.harvest()
    before = small.seen()
    small.write(b=dump(2))
    assert crash.killed_at(crash.start(small.words(), HARVEST_FAULT="commit.published"))

    (problem,) = small.open().verify()
    assert "left by an interrupted run" in problem
    assert repair(small.location).left == []
    assert small.seen() == before


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda rows: rows.with_columns(submit_time=pl.lit("x")), "cannot be read as declared"),
        (lambda rows: rows.head(1), "has 1 rows of slurm.job, the manifest says 2"),
    ],
    ids=["another type", "a row too few"],
)
def test_rows_that_do_not_fit_are_named(tmp_path: Path, other: Any, said: str) -> None:
    # given other rows in a file, whose bytes the manifest names
    small = Small(tmp_path).write(a=dump(1, 2))
    small.harvest()
    (path,) = small.files()
    other(pl.read_parquet(path)).write_parquet(path)
    (part,) = small.manifest()
    file = attrs.evolve(part.files[0], size_bytes=path.stat().st_size, sha256=checksum(path))
    part = attrs.evolve(part, files=(file,))
    remember(small.state, attrs.evolve(small.manifest(), parts={part.key: part}).save(small.state))

    (problem,) = small.open().verify()
    assert path.name in problem
    assert said in problem
    assert repair(small.location).left == []
    assert small.jobs() == [1, 2]


@pytest.mark.slow
def test_verify_and_repair_on_the_command_line(tmp_path: Path) -> None:
    small = Small(tmp_path, "jsonl").write(a=dump(1), b=dump(2, damaged=1))
    small.harvest()

    def command(*words: str) -> tuple[int, str]:
        done = harvest_here("verify", small.location, *words)
        return done.returncode, done.stdout

    assert command() == (0, "no problems: 2 files, 2 rows checked\n")
    small.files()[0].unlink()
    flip(small.state / "manifest.json")
    code, text = command()
    assert code == 1
    assert "the manifest is damaged" in text
    code, text = command("--repair", "--json")
    assert code == 0
    told = json.loads(text)
    assert told["manifest_restored"]
    assert [Path(origin).name for origin in told["read_again"]] == ["a.txt"]
    small.files()[0].unlink()
    (small.inputs / "a.txt").unlink()
    code, text = command("--repair")
    assert code == 1
    assert "cannot be read again: its input no longer exists; --deleted drop removes" in text
    code, text = command("--repair", "--deleted", "drop")
    assert (code, text.splitlines()[-1]) == (0, "no problems: 1 file, 1 row checked")


# --- rejects, after a fix -------------------------------------------------------------------------


@pytest.mark.slow
def test_replay_reads_just_the_inputs_with_rejects_and_says_what_remains(small: Small) -> None:
    small.write(a=dump(1, 2, damaged=2), b=dump(3, damaged=1))
    small.harvest()

    def replay(*words: str) -> tuple[int, Any]:
        done = harvest_here("rejects", small.location, "--replay", "--json", *words)
        return done.returncode, json.loads(done.stdout)

    code, told = replay("--reason", "no such reason")
    assert (code, told["read_again"], told["rejects"]) == (3, [], 3)
    small.write(a=dump(1, 2, 7))
    code, told = replay("--source", "slurm")
    assert [Path(origin).name for origin in told["read_again"]] == ["a.txt", "b.txt"]
    assert (code, told["rejects_before"], told["rejects"]) == (3, 3, 1)
    small.write(b=dump(3))
    code, told = replay()
    assert [Path(origin).name for origin in told["read_again"]] == ["b.txt"]
    assert (code, told["rejects"]) == (0, 0)
    assert small.jobs() == [1, 2, 7, 3, 4, 5]
    assert small.open().runs()[-1]["action"] == "replay"
    # what is in force needs no further run
    assert small.harvest().run is None


def test_replay_may_change_a_setting(tmp_path: Path) -> None:
    small = Small(tmp_path).write(a=dump(1))
    path = small.inputs / "a.txt"
    path.write_text("1|job|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00\n")
    small.write(b=dump(2))
    small.harvest()
    assert small.jobs() == [2]
    columns = "JobID,JobName,User,State,ExitCode,Elapsed,Start"

    done = harvest_here("rejects", small.location, "--replay", "--set", f"slurm.columns={columns}")

    assert done.returncode == 0, done.stdout
    assert small.jobs() == [1, 2]
