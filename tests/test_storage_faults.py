"""Storage that fails, and inputs that change while they are read."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import crash
import pytest
from commands import harvest_alone
from crash import Place
from datasets import Small, dump, plugins_with

import harvest
from harvest import fault
from harvest.errors import HarvestError
from harvest.plugins.registry import PluginManager

# --- every step at which the storage can fail -----------------------------------------------------

KINDS = ("ENOSPC", "EIO", "EROFS", "EACCES", "EDQUOT")


def steps() -> list[tuple[str, str]]:
    """Each fault point with one of the ways in which storage fails, in turn."""
    # what never fails a run: steps that only other commands or a run after a kill pass
    other = ("rollback.", "lock.", "file.remove", "recover.move_back", "run.planned")
    names = [name for name in crash.fault_points() if not name.startswith(other)]
    return [(name, KINDS[number % len(KINDS)]) for number, name in enumerate(names)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: Any) -> Place:
    return crash.with_two_commits(tmp_path_factory.mktemp("storage"), "slurm", "gpfs")


@pytest.fixture(scope="module")
def expected(base: Place, tmp_path_factory: Any) -> dict[str, Any]:
    """What the third run makes of them when nothing fails."""
    place = base.copy(tmp_path_factory.mktemp("undisturbed") / "D")
    place.harvest()
    return crash.contents(place)


@pytest.mark.slow
@pytest.mark.parametrize(("point", "kind"), steps())
def test_storage_that_fails_at_a_step(
    point: str,
    kind: str,
    base: Place,
    expected: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = base.copy(tmp_path / "D")
    before = [state.joinpath("manifest.json").read_bytes() for state in place.states()]

    with monkeypatch.context() as patch:
        patch.setattr(fault, "_fault", fault._Fault(f"{point}:1:{kind}"))
        with pytest.raises(HarvestError) as caught:
            place.harvest()

    # it says what failed, and the truth about what was committed
    message = str(caught.value)
    assert os.strerror(getattr(__import__("errno"), kind)) in message
    after = [state.joinpath("manifest.json").read_bytes() for state in place.states()]
    changed = [a != b for a, b in zip(after, before, strict=True)]
    if not any(changed):
        assert "nothing of this run was committed" in message
        seen = crash.contents_seen(place)
        assert seen == crash.contents_seen(base)
    else:
        assert changed == sorted(changed, reverse=True)
        done = [str(path) for path, new in zip(place.locations(), changed, strict=True) if new]
        if all(changed):
            assert "everything was committed" in message
        else:
            assert f"only {', '.join(done)} was committed" in message
    crash.check_readable(place)
    # once the storage works again, nothing is missing
    place.harvest()
    crash.check_equal(place, expected)


# --- a kill in the middle of a write --------------------------------------------------------------


def test_what_a_killed_write_left_is_removed_by_the_next_run(tmp_path: Path) -> None:
    # given a dataset with all directories of its state, each with a file that was never renamed
    small = Small(tmp_path).write(a=dump(1), b=dump(2, damaged=1))
    small.harvest()
    small.write(b=dump(3, damaged=2))
    small.harvest()
    directories = [small.state, *(path for path in small.state.iterdir() if path.is_dir())]
    names = {path.name for path in directories}
    assert {"history", "kept", "rejects", "runs", "segments", "copies"} <= names
    before = sorted(small.state.rglob("*"))
    for directory in directories:
        (directory / ".name.json.0123456789ab.tmp").write_text("half of")

    # when nothing is new
    small.harvest()

    # then
    assert sorted(small.state.rglob("*")) == before


# --- real disks -----------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Any:
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)  # a traceback may hold a file open


@pytest.mark.parametrize("form", ["parquet", "jsonl", "file"])
def test_a_disk_that_fills_up(form: str, disk: Path, tmp_path: Path) -> None:
    small = Small(disk, form)
    elsewhere = Small(tmp_path).write(a=dump(*range(20)))
    (disk / "in").symlink_to(elsewhere.inputs)
    small.harvest()
    before = small.seen()
    # room for one more state of the dataset, but not for all that the run needs
    (disk / "ballast").write_bytes(b"0" * (os.statvfs(disk).f_bavail * 4096 - 40_000))
    elsewhere.write(a=dump(*range(20, 200)), b=dump(*range(200, 400)))

    with pytest.raises(HarvestError, match=r"No space left.*nothing of this run was committed"):
        small.harvest()

    assert small.seen() == before
    assert small.open().verify() == []
    (disk / "ballast").unlink()
    small.harvest()
    assert small.jobs() == [*range(20, 400)]
    assert small.open().verify() == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="all may be written here")
def test_a_place_that_may_not_be_written(tmp_path: Path) -> None:
    inputs = Small(tmp_path).write(a=dump(1)).inputs

    with pytest.raises(HarvestError, match="the dataset cannot be written") as refused:
        harvest.run(f"slurm:{inputs}", "parquet:/proc/self/out")

    assert (refused.value.where or "").startswith("/proc/self/out")


@pytest.mark.slow
def test_a_disk_that_may_only_be_read(disk: Path, tmp_path: Path) -> None:
    small = Small(disk)
    elsewhere = Small(tmp_path).write(a=dump(1))
    (disk / "in").symlink_to(elsewhere.inputs)
    small.harvest()
    elsewhere.write(a=dump(2))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    done = harvest_alone(*small.words())

    assert done.returncode == 1
    assert "Read-only file system" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert small.jobs() == [1]
    assert small.open().verify() == []


@pytest.mark.slow
def test_permission_lost_midway(bound_by_permissions: list[str], tmp_path: Path) -> None:
    # given a run that has read its inputs and stands before its commit
    small = Small(tmp_path, "jsonl").write(a=dump(1))
    small.harvest()
    before = small.seen()
    small.write(a=dump(2), b=dump(3))
    process = crash.start(
        small.words(), before=bound_by_permissions, HARVEST_FAULT="commit.begun:1:stop"
    )
    crash.wait_until_stopped(process)
    folder = small.location / "slurm.job"
    folder.chmod(0o555)

    crash.kill_group(process, signal.SIGCONT)
    _, said = process.communicate(timeout=60)

    folder.chmod(0o755)
    assert process.returncode == 1
    assert said.endswith("Permission denied; nothing of this run was committed\n")
    assert len(said.splitlines()) == 1
    assert small.seen() == before
    small.harvest()
    assert small.jobs() == [2, 3]


# --- inputs that change while they are read -------------------------------------------------------


@pytest.fixture
def meddled() -> PluginManager:
    """Plugins with a source that lets a test meddle with its file while it is read."""
    return plugins_with(parquet="harvest_parquet.plugin", meddled="harvest_meddled")


CHANGES = {
    "growing": lambda path: path.write_text(path.read_text() + "more\n"),
    "rewritten": lambda path: path.write_text("else\n"),
    "replaced": lambda path: (path.with_suffix(".new").write_text("else\n"),
                              path.with_suffix(".new").replace(path)),
    "deleted": lambda path: path.unlink(),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_an_input_that_changes_while_it_is_read_is_read_again_next_time(
    change: str, meddled: PluginManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import harvest_meddled

    path = tmp_path / "in" / "a.meddled"
    path.parent.mkdir()
    path.write_text("one\ntwo\n")
    status = path.stat()
    out = tmp_path / "out"
    arguments = (f"meddled:{path.parent}", f"parquet:{out}")
    monkeypatch.setattr(harvest_meddled, "meddle", CHANGES[change])

    result = harvest.run(*arguments, plugins=meddled, workers=1)

    (part,) = result.parts
    assert part.changed
    assert "changed while it was read; the next run reads it again" in result.notes[0]

    # it is read again, even if by then it is as it was when the run was planned
    monkeypatch.setattr(harvest_meddled, "meddle", None)
    path.write_text("one\ntwo\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    result = harvest.run(*arguments, plugins=meddled, workers=1)
    assert [not part.changed for part in result.parts] == [True]
    texts = harvest.open(out, plugins=meddled)["meddled.line"].collect()["text"]
    assert texts.to_list() == ["one", "two"]
    assert not harvest.run(*arguments, plugins=meddled, workers=1).parts


@pytest.mark.slow
def test_a_source_that_stumbles_over_a_change_does_not_fail_the_run(
    meddled: PluginManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import harvest_meddled

    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.meddled").write_text("one\ntwo\n")
    (folder / "b.meddled").write_text("three\n")

    def meddle(path: Path) -> None:
        if path.name == "a.meddled":
            path.write_text("stumble\n")
            raise ValueError("the file is not what it was")

    monkeypatch.setattr(harvest_meddled, "meddle", meddle)
    out = tmp_path / "out"

    result = harvest.run(f"meddled:{folder}", f"parquet:{out}", plugins=meddled, workers=1)

    assert result.account.rejected == 1
    (reject,) = harvest.open(out, plugins=meddled).rejects()
    assert reject["reason"] == "the input changed while it was read"
    monkeypatch.setattr(harvest_meddled, "meddle", None)
    again = harvest.run(f"meddled:{folder}", f"parquet:{out}", plugins=meddled, workers=1)
    assert [Path(part.origin).name for part in again.parts] == ["a.meddled"]
    assert not again.account.rejected


# --- files that are in force ----------------------------------------------------------------------


def test_a_file_of_rejects_in_force_is_never_overwritten_before_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a partition with rejects, and a setting by which it is read anew with others
    small = Small(tmp_path).write(a=dump(1, damaged=1))
    small.harvest()
    (path,) = (small.state / "rejects").iterdir()
    data, manifest = path.read_bytes(), small.manifest()
    monkeypatch.setattr("harvest.storage.rejects.RejectWriter.add", _changed_reason())

    # when a run by force is cut short after it published its rejects
    with monkeypatch.context() as patch:
        patch.setattr(fault, "_fault", fault._Fault("commit.kept:1:EIO"))
        patch.setattr("harvest.storage.target.Target._undo", lambda self: None)
        with pytest.raises(HarvestError):
            small.harvest(force=True)

    # then both files are there, and the one in force is as it was
    assert len(list((small.state / "rejects").iterdir())) == 2
    assert path.read_bytes() == data
    assert small.manifest() == manifest
    small.harvest(force=True)
    (reject,) = small.open().rejects()
    assert reject["reason"] == "for another reason"
    assert len(list((small.state / "rejects").iterdir())) == 1


def _changed_reason() -> Any:
    import attrs

    from harvest.storage.rejects import RejectWriter

    ordinary = RejectWriter.add

    def add(self: Any, reject: Any) -> None:
        ordinary(self, attrs.evolve(reject, reason="for another reason"))

    return add
