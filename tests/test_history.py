"""Who wrote a dataset, going back to what an earlier run left, and random histories of runs."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import crash
import pytest
from commands import harvest_here
from datasets import EACH_FORM, Small, dump, plugins_with
from night import NIGHT

import harvest
from harvest import fault
from harvest.errors import DatasetError, HarvestError, UsageError
from harvest.pipeline import rollback
from harvest.pipeline.rollback import keep_runs, roll_back


@pytest.fixture(params=EACH_FORM)
def small(tmp_path: Path, request: Any) -> Small:
    """Two dumps, harvested; then one of them changed and a third added, and harvested."""
    small = Small(tmp_path, request.param).write(a=dump(1, 2), b=dump(3, damaged=1))
    small.harvest()
    return small


def second(small: Small, **options: Any) -> None:
    small.write(b=dump(4, 5, damaged=2), c=dump(6))
    small.harvest(**options)


def back(small: Small, run: str) -> str | None:
    return roll_back(small.open().sink, run)


def harvest_command(*words: Any) -> str:
    return harvest_here(*words).stdout


def test_rollback_restores_every_byte_and_can_be_rolled_back(small: Small) -> None:
    before, parts, run = small.seen(), small.manifest().parts, small.manifest().run
    second(small)
    after, latest = small.seen(), small.manifest().run
    assert small.jobs() == [1, 2, 4, 5, 6]

    back(small, run)

    assert small.jobs() == [1, 2, 3]
    assert small.seen() == before
    assert small.manifest().parts == parts
    assert len(list(small.open().rejects())) == 1
    assert small.open().verify() == []

    # and back from there
    back(small, latest)

    assert small.seen() == after
    actions = [record["action"] for record in small.open().runs()]
    assert actions == ["run", "run", "rollback", "rollback"]


def test_a_run_after_a_rollback_harvests_what_has_changed_since(small: Small) -> None:
    run = small.manifest().run
    second(small)
    after = small.seen()
    back(small, run)

    result = small.harvest()

    assert {Path(part.origin).name for part in result.parts} == {"b.txt", "c.txt"}
    assert small.seen() == after


def test_the_record_of_a_rollback_tells_its_end_and_what_came_and_left(small: Small) -> None:
    """Back from a, b changed and c: b is that of before again, and c is gone."""
    first = small.manifest().run
    second(small)

    back(small, first)

    run = small.manifest().run
    record = json.loads((small.state / "runs" / f"{run}.json").read_bytes())
    # where a and b are rows of one file, a comes with b
    files = [file for part in small.manifest().parts.values() for file in part.files]
    again = 2 if files[0].first_row is not None else 1
    expected = {"run": run, "action": "rollback", "to": first, "exit_code": 0}
    expected |= {"partitions": again, "replaced": again, "dropped": 1}
    assert {name: record[name] for name in expected} == expected
    assert record["sink"]["location"] == str(small.location)


def test_a_rollback_to_the_state_in_force_does_nothing(small: Small) -> None:
    before = small.manifest()
    assert back(small, before.run) is None
    assert small.manifest() == before


def test_rows_of_inputs_that_were_dropped_come_back(small: Small) -> None:
    run = small.manifest().run
    (small.inputs / "a.txt").unlink()
    result = small.harvest(deleted="drop")
    assert [Path(part.origin).name for part in result.dropped] == ["a.txt"]
    assert small.jobs() == [3]

    back(small, run)

    assert small.jobs() == [1, 2, 3]


@pytest.mark.slow
def test_as_many_states_are_kept_as_the_dataset_is_told(small: Small) -> None:
    states = {}
    for number in range(4):
        small.write(a=dump(10 + number))
        small.harvest(**({"keep_runs": 2} if number == 0 else {}))
        states[small.manifest().run] = small.seen()

    first, *kept, last = states
    assert small.manifest().kept == tuple(kept)
    with pytest.raises(DatasetError, match="was not kept") as caught:
        back(small, first)
    assert all(run in str(caught.value) for run in kept)
    for run in kept:
        back(small, run)
        assert small.seen() == states[run]
    assert last in small.manifest().runs


def test_what_is_not_kept_takes_no_room(small: Small) -> None:
    second(small)
    assert list((small.state / "kept").iterdir())

    keep_runs(small.open().sink, 0)

    assert not (small.state / "kept").exists()
    assert small.manifest().kept == ()
    second(small, force=True)
    assert small.manifest().kept == ()
    assert {path.stem for path in (small.state / "history").iterdir()} == {small.manifest().run}
    assert small.open().verify() == []


def test_unchanged_parts_are_shared_with_kept_states(tmp_path: Path) -> None:
    small = Small(tmp_path, "jsonl").write(a=dump(*range(500)), b=dump(3))
    small.harvest()

    small.write(b=dump(4))
    small.harvest()

    (kept,) = (small.state / "kept").iterdir()
    assert b'"job 3"' in kept.read_bytes()
    assert b'"job 499"' not in kept.read_bytes()


def test_a_damaged_kept_file_is_named_and_never_put_in_force(small: Small) -> None:
    run = small.manifest().run
    second(small)
    after = small.seen()
    kept = sorted((small.state / "kept").iterdir())
    for path in kept:
        os.truncate(path, path.stat().st_size // 2)

    assert {problem.partition(":")[0] for problem in small.open().verify()} == set(map(str, kept))
    with pytest.raises(DatasetError, match="missing or damaged"):
        back(small, run)
    assert small.seen() == after
    # forgetting the state mends the dataset
    keep_runs(small.open().sink, 0)
    assert small.open().verify() == []


def test_a_run_that_was_never_committed_is_said_to_be_none(small: Small) -> None:
    with pytest.raises(UsageError, match="no run 'never' was committed here"):
        back(small, "never")


def points() -> list[str]:
    """Steps that a rollback passes, and some that it shares with runs."""
    own = [name for name in crash.fault_points() if name.startswith("rollback.")]
    assert own
    return [*own, "commit.published", "commit.recorded", "manifest.after_rename", "kept.forget"]


@pytest.mark.slow
@pytest.mark.parametrize(("point", "form"), [*product(points(), ["parquet", "jsonl", "file"])])
def test_a_rollback_killed_anywhere_leaves_one_state_or_the_other(
    form: str, point: str, tmp_path: Path
) -> None:
    small = Small(tmp_path, form).write(a=dump(1, 2), b=dump(3, damaged=1))
    small.harvest()
    before, run = small.seen(), small.manifest().run
    second(small)
    after = small.manifest()

    process = crash.start(["rollback", str(small.location), run], HARVEST_FAULT=point)
    assert crash.killed_at(process)

    gone_back = small.manifest().run != after.run
    assert gone_back == (point in ("manifest.after_rename", "kept.forget"))
    assert small.jobs() == ([1, 2, 3] if gone_back else [1, 2, 4, 5, 6])
    if not gone_back:
        back(small, run)
    else:
        keep_runs(small.open().sink, 1)  # any command that writes finishes what was cut short
    assert small.seen() == before
    assert small.open().verify() == []


def test_a_rollback_for_which_there_is_no_room_changes_nothing(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small.manifest().run
    second(small)
    after = small.seen()
    monkeypatch.setattr(fault, "_fault", fault._Fault("commit.recorded:1:ENOSPC"))

    with pytest.raises(HarvestError, match="nothing of this run was committed"):
        back(small, run)

    assert small.seen() == after
    back(small, run)
    assert small.jobs() == [1, 2, 3]


# --- records --------------------------------------------------------------------------------------


def test_the_record_of_a_run_tells_who_when_what_and_how(tmp_path: Path) -> None:
    small = Small(tmp_path).write(a=dump(1, 2, damaged=1))
    small.harvest(on_error="reject", deleted="drop")

    (record,) = small.open().runs()

    assert record["sources"] == [{"name": "slurm", "location": str(small.inputs)}]
    assert record["source_plugins"]["slurm"].startswith("hpc-harvest-slurm ")
    assert record["redacted"] == []
    assert record["sink"] == {"name": "parquet", "location": str(small.location)}
    assert record["settings"] == {"slurm": {"timezone": "UTC"}}
    assert (record["action"], record["exit_code"], record["deleted"]) == ("run", 3, "drop")
    assert not {"export", "keep_runs"} & record.keys()  # which are no part of what was read
    assert record["started"] < record["ended"]
    assert record["user"]
    assert record["host"]
    assert record["harvest"] == harvest.__version__
    (account,) = record["account"]
    assert (account["read"], account["written"], account["rejected"]) == (3, 2, 1)


def test_runs_are_listed_and_shown_on_the_command_line(tmp_path: Path) -> None:
    small = Small(tmp_path).write(a=dump(1), b=dump(3))
    small.harvest()
    second(small)
    first, latest = small.manifest().runs

    listed = json.loads(harvest_command("runs", small.location, "--json"))
    assert [(r["run"], r["state"]) for r in listed] == [(first, "kept"), (latest, "in force")]
    table = harvest_command("runs", small.location)
    assert first in table
    assert "1 earlier state is kept" in table
    shown = harvest_command("runs", small.location, latest)
    assert "slurm.timezone=UTC" in shown
    assert "hpc-harvest-slurm" in shown
    said = harvest_command("rollback", small.location, first)
    assert f"restored the state of run {first}: 2 rows" in said
    assert f"rollback to {first}" in harvest_command("runs", small.location)
    again = harvest_command("rollback", small.location, small.manifest().run)
    assert again.startswith("the dataset is already in the state of run ")
    harvest_command("runs", small.location, "--keep-runs", "0")
    assert small.manifest().kept == ()


@pytest.mark.slow
def test_a_run_that_was_cut_short_before_its_commit_is_not_listed(tmp_path: Path) -> None:
    small = Small(tmp_path).write(a=dump(1))
    small.harvest()
    small.write(b=dump(2))
    assert crash.killed_at(crash.start(small.words(), HARVEST_FAULT="commit.recorded"))

    assert len(list((small.state / "runs").iterdir())) == 2
    assert len(small.open().runs()) == 1
    small.harvest()
    assert len(small.open().runs()) == 2
    assert small.open().runs(skip=1) == small.open().runs()[1:]


def test_secrets_are_in_no_file_of_the_dataset(tmp_path: Path) -> None:
    (tmp_path / "x.secret").write_text("row\n")
    plugins = plugins_with(parquet="harvest_parquet.plugin", secretive="harvest_secretive")
    hidden = {"password": "hunter2", "pin": "4711hush", "door-code": "0815hush"}
    settings = {"secretive": {**hidden, "colour": "green"}}

    harvest.run(
        f"secretive:{tmp_path / 'x.secret'}#token=hunter2",
        f"parquet:{tmp_path / 'out'}",
        plugins=plugins,
        settings=settings,
    )

    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert all(secret.encode() not in path.read_bytes() for secret in hidden.values()), path
    made = harvest.open(tmp_path / "out", plugins=plugins)
    assert all(secret not in str(made.parts) for secret in hidden.values())  # compressed
    (record,) = made.runs()
    assert record["settings"]["secretive"] == {**dict.fromkeys(hidden, "***"), "colour": "green"}
    assert record["redacted"] == ["secretive"]
    assert record["sources"][0]["location"].endswith("#token=***")


def test_a_shared_file_is_put_back_once_for_all_its_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given partitions whose rows lie in one file, and of which one was read again since
    small = Small(tmp_path).write(a=dump(1), b=dump(2), c=dump(3))
    small.harvest()
    before, run = small.seen(), small.manifest().run
    small.write(b=dump(9)).harvest()
    copied = mock.Mock(wraps=rollback.put_back)
    monkeypatch.setattr(rollback, "put_back", copied)

    back(small, run)

    copied.assert_called_once()
    assert small.seen() == before


@pytest.mark.slow
def test_after_each_run_of_a_history_a_dataset_equals_a_fresh_harvest(tmp_path: Path) -> None:
    script, count = Path(__file__).parent / "support" / "histories.py", 100 if NIGHT else 1
    # in a process of its own: it forks, which one with threads should not do
    done = subprocess.run(
        [sys.executable, str(script), str(count)],
        env={**os.environ, "TMPDIR": str(tmp_path), "POLARS_MAX_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} histories, {count} equal; wrong: none" in done.stdout
