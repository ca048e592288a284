"""Whatever somebody puts in the place of a dataset's file: no reader follows it or waits for it.

Each command ends, with a line and without a traceback, and a repair makes the dataset whole.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Small, dump
from strength import some

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
    "rows": lambda small: small.files()[0],
}


@pytest.fixture(scope="module", params=["parquet", "jsonl"])
def made(request: Any, tmp_path_factory: Any) -> Small:
    small = made_in(tmp_path_factory.mktemp("planted") / "now", request.param)
    shutil.copytree(small.folder, small.folder.with_name("whole"))
    return small


@pytest.fixture
def whole(made: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """The dataset as it was made."""
    monkeypatch.setenv("OUTSIDE", str(tmp_path / "outside"))
    shutil.rmtree(made.folder)
    shutil.copytree(made.folder.with_name("whole"), made.folder)
    return made


def said(small: Small, *words: str) -> tuple[int, str]:
    """Exit code and output of a command, with little memory, within a minute."""
    limit = 'ulimit -v 12000000; exec "$@"'
    command = ["bash", "-c", limit, "-", sys.executable, "-m", "harvest", *words]
    env = {**os.environ, "POLARS_MAX_THREADS": "2"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=env, stdin=subprocess.DEVNULL
    )
    text = done.stdout + done.stderr
    assert "Traceback" not in text, text
    assert text.strip()
    return done.returncode, text


CASES = [(kind, planted) for kind in KINDS for planted in PLANTED]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "planted"), some(CASES, 7))
def test_each_command_ends_and_a_repair_makes_it_whole(
    whole: Small, kind: str, planted: str
) -> None:
    # given something else in the place of a file
    path = KINDS[kind](whole)
    expected = whole.jobs()
    PLANTED[planted](path)
    place = str(whole.location)

    # then each command that reads ends, and verifying names it
    code, text = said(whole, "verify", place)
    assert (code, path.name in text) == (1, True) or kind == "lock"
    said(whole, "runs", place)
    said(whole, "view", place, "slurm.jobs")
    said(whole, "query", place, 'select count(*) from "slurm.job"')

    # and a repair mends it or gives it up; all is well, and a run goes on from there
    code, text = said(whole, "verify", place, "--repair", "--give-up")
    assert code == 0, text
    code, text = said(whole, "verify", place)
    assert code == 0, text
    assert sorted(whole.jobs()) == sorted(expected)
    words = ["run", "-s", f"slurm:{whole.inputs}", "-k", whole.sink, "-o", "slurm.timezone=UTC"]
    whole.write(b=dump(3, 8))
    code, text = said(whole, *words)
    assert code == 0, text
    assert sorted(whole.jobs()) == [1, 2, 3, 8, 9]


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
