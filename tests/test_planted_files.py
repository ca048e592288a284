"""Whatever somebody puts in the place of a dataset's file: no reader follows it or waits for it.

Each command ends, with a line and without a traceback, and a repair makes the dataset whole.
"""

import itertools
import os
import shutil
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from commands import harvest_each, harvest_here
from datasets import Small, dump

import harvest
from harvest.dataset.repair import repair


def link_to_a_copy(path: Path, target: Path) -> None:
    path.rename(target)
    path.symlink_to(target)


def socket_at(path: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may have no more than 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("s")
        Path("s").rename(path.name)
    finally:
        os.chdir(here)


def replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def plant(path: Path) -> None:
        path.unlink()
        make(path)

    return plant


PLANTED: dict[str, Callable[[Path], None]] = {
    "a link inside": lambda path: link_to_a_copy(path, path.with_name(f"{path.name}.moved")),
    "a link outside": lambda path: link_to_a_copy(path, Path(os.environ["OUTSIDE"])),
    "a link to itself": replaced(lambda path: path.symlink_to(path)),
    "a named pipe": replaced(os.mkfifo),
    "a socket": socket_at,
    "a directory": replaced(Path.mkdir),
    "a file of 10 GB": lambda path: os.truncate(path, 10_000_000_000),
    "a file without permission": lambda path: path.chmod(0),
    "a link to /dev/zero": replaced(lambda path: path.symlink_to("/dev/zero")),
}


def made_in(folder: Path, form: str) -> Small:
    """A dataset of three runs, the state of one before kept, with rejects."""
    folder.mkdir()
    small = Small(folder, form).write(a=dump(1, 2), b=dump(3, damaged=1))
    small.harvest(keep_runs=1)
    small.write(b=dump(3, 7, damaged=2)).harvest()
    small.write(a=dump(1, 2, 9)).harvest()
    return small


FORMS = ("parquet", "jsonl", "file")
KINDS = {
    "manifest": lambda small: small.state / "manifest.json",
    "newest copy": lambda small: small.state / "history" / f"{small.manifest().run}.json",
    "kept manifest": lambda small: small.state / "history" / f"{small.manifest().kept[0]}.json",
    "record": lambda small: small.state / "runs" / f"{small.manifest().run}.json",
    "lock": lambda small: small.state / "lock",
    **{
        name: lambda small, name=name: sorted((small.state / name).iterdir())[0]
        for name in ("segments", "copies", "kept", "rejects")
    },
    "rows": lambda small: small.location if small.form == "file" else small.files()[0],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Small]:
    """A dataset of each form, of whose inputs one has changed since."""
    folder = tmp_path_factory.mktemp("planted")
    return {form: made_in(folder / form, form).write(b=dump(3, 8)) for form in FORMS}


def said(*commands: Sequence[str]) -> list[tuple[int, str]]:
    """Exit code and output of each command, all of them with little memory, within two minutes."""
    with_limit = ["bash", "-c", 'ulimit -v 12000000; exec "$@"', "-"]
    if os.geteuid() == 0:  # or what nobody may read could be read
        with_limit += ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    answers = harvest_each(
        *commands, before=with_limit, timeout=120, env={**os.environ, "POLARS_MAX_THREADS": "2"}
    )
    found = [(done.returncode, done.stdout + done.stderr) for done in answers]
    assert [text for _, text in found if not text or "Traceback" in text] == []
    return found


CASES = [
    (form, kind, planted)
    for form in FORMS
    for kind in KINDS
    for planted in PLANTED
    if form == "parquet" or kind == "rows"
    # a dataset that is one file may be named by a link
    if form != "file" or planted not in ("a link inside", "a link outside")
]


def read_and_repaired(whole: Small, small: Small) -> list[list[str]]:
    """The commands that read a copy of a dataset, repair it, and harvest the inputs into it."""
    place = str(small.location)
    return [
        ["verify", place],
        ["runs", place],
        ["view", "slurm.jobs", place],
        ["query", place, 'select count(*) from "slurm.job"'],
        ["verify", place, "--repair", "--give-up"],
        ["verify", place],
        [word.replace(whole.sink, small.sink) for word in whole.words()],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(16))
def test_each_command_ends_and_a_repair_makes_it_whole(
    made: dict[str, Small], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    # given datasets with something else in the place of a file, of every kind one
    commands, cases = [], []
    for number, (form, kind, planted) in enumerate(CASES[first::16]):
        small = Small(tmp_path / f"{number}", form)
        shutil.copytree(made[form].folder, small.folder)
        monkeypatch.setenv("OUTSIDE", str(tmp_path / f"outside {number}"))
        path = KINDS[kind](small)
        PLANTED[planted](path)
        cases.append((form, kind, planted, small, path))
        commands += read_and_repaired(made[form], small)

    # when they are read, repaired, and harvested into
    answers = iter(said(*commands))

    for *case, small, path in cases:
        # then verifying names it, and all is well after the repair
        verified, *read, repaired, verified_again, run = itertools.islice(answers, 7)
        assert verified[0] == 1, case
        assert path.name in verified[1], case
        assert {code for code, _ in read} <= ({0} if case[1] == "record" else {0, 1}), case
        assert (repaired[0], verified_again[0], run[0]) == (0, 0, 0), (case, repaired, run)
        assert sorted(small.jobs()) == [1, 2, 3, 8, 9], case


DIRECTORIES = ("aside", "copies", "history", "kept", "rejects", "runs", "segments", "staging")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(8))
def test_what_is_in_the_place_of_a_directory_is_moved_aside(
    made: dict[str, Small], tmp_path: Path, first: int
) -> None:
    # given datasets with something else in the place of a directory of the state
    planted = ["a file", "a link to itself", "a link to a file", "a pipe"]
    commands, cases = [], []
    for number, name in enumerate(DIRECTORIES[first % 2 :: 2]):
        small = Small(tmp_path / name)
        shutil.copytree(made["parquet"].folder, small.folder)
        path = small.state / name
        shutil.rmtree(path, ignore_errors=True)
        what = planted[(first // 2 + number) % 4]
        if what == "a file":
            path.write_text("mine")
        elif what == "a pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(path if what == "a link to itself" else __file__)
        cases.append((name, what, small))
        verify, _, _, _, *repair = read_and_repaired(made["parquet"], small)
        commands += [verify, *repair]

    # when they are repaired, and harvested into
    answers = iter(said(*commands))

    for name, what, small in cases:
        # then it is named and moved, and all is well
        verified, repaired, verified_again, run = itertools.islice(answers, 4)
        assert verified[0] == 1, (name, what, verified)
        assert name in verified[1], what
        assert [code for code, _ in (repaired, verified_again, run)] == [0, 0, 0], repaired
        assert list((small.state / "aside").glob(f"{name}.*")), (name, what)
        assert sorted(small.jobs()) == [1, 2, 3, 8, 9], (name, what)


@pytest.mark.parametrize("linked", ["aside", "state"])
def test_nothing_is_moved_through_a_link(tmp_path: Path, linked: str) -> None:
    # given a link to a directory of somebody's, and a pipe in the place of the lock
    small = Small(tmp_path).write(a=dump(1))
    small.harvest()
    elsewhere = tmp_path / "elsewhere"
    if linked == "aside":
        elsewhere.mkdir()
        (small.state / "aside").symlink_to(elsewhere)
    else:
        small.state.rename(elsewhere)
        small.state.symlink_to(elsewhere)
    (small.state / "lock").unlink()
    os.mkfifo(small.state / "lock")
    before = sorted(elsewhere.iterdir())

    if linked == "aside":
        assert repair(small.location).left == []
        assert small.open().verify() == []
    else:
        with pytest.raises(harvest.HarvestError, match="symbolic link"):
            repair(small.location)

    assert sorted(elsewhere.iterdir()) == before


@pytest.mark.parametrize("kind", ["newest copy", "record", "lock"])
def test_what_is_moved_aside_is_said_and_kept(tmp_path: Path, kind: str) -> None:
    # given a directory of somebody's in the place of a file
    small = Small(tmp_path).write(a=dump(1))
    small.harvest()
    path = KINDS[kind](small)
    path.unlink()
    path.mkdir()
    (path / "precious").write_text("mine")

    done = repair(small.location, give_up=True)

    assert done.left == []
    (aside,) = (small.state / "aside").iterdir()
    assert any(f"{path}: was a directory, now {aside}" in text for text in done.found)
    assert (aside / "precious").read_text() == "mine"
    assert harvest.open(small.location).verify() == []


@pytest.mark.slow
def test_a_record_that_is_lost_stops_no_view(tmp_path: Path) -> None:
    # given the record of the run that read the jobs with a time zone, in whose place is a directory
    small = Small(tmp_path).write(a=dump(1))
    small.harvest()
    record = KINDS["record"](small)
    record.unlink()
    record.mkdir()

    assert harvest_here("view", "slurm.trend", small.location).returncode == 0
    report = harvest_here("report", "slurm.usage", small.location)

    assert report.returncode == 0
    said_of_zone = " ".join(report.stdout.split())
    assert "the record of a run cannot be read: this is a directory" in said_of_zone
    assert "days and months are in UTC" in said_of_zone
