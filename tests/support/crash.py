"""Real harvests in processes of their own, that are killed; and what must hold afterwards."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import orjson
import small_inputs

import harvest
from harvest.commands.options import plugin_settings
from harvest.storage.manifest import Manifest
from harvest.storage.part import plain
from harvest.storage.staging import staged_parts

ROOT = Path(__file__).resolve().parents[2]
MARK = "HARVEST_TEST_MARK"
"""Environment variable that processes and their children are known by."""
SINKS = ("parquet:P", "jsonl:J", "jsonl:F.jsonl")


@functools.cache
def fault_points() -> tuple[str, ...]:
    """The names of all fault points in the program and its plugins, as their source tells."""
    found = set()
    for folder in (ROOT / "src", *(ROOT / "plugins").glob("*/src")):
        for path in folder.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            # the trees of all other files would take seconds in each process that collects tests
            for node in ast.walk(ast.parse(text)) if "fault.point" in text else ():
                if (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func) == "fault.point"
                    and isinstance(node.args[0], ast.Constant)
                ):
                    found.add(node.args[0].value)
    return tuple(sorted(found))


@attrs.frozen
class Place:
    """A folder that holds one dataset of each form; ``inputs`` is what is harvested into them."""

    folder: Path
    inputs: Path
    forms: tuple[str, ...] = SINKS

    def locations(self) -> list[Path]:
        return [self.folder / sink.partition(":")[2] for sink in self.forms]

    def states(self) -> list[Path]:
        return [
            location.with_name(location.name + "._harvest")
            if location.suffix
            else location / "_harvest"
            for location in self.locations()
        ]

    def sinks(self) -> list[str]:
        names = [sink.partition(":")[0] for sink in self.forms]
        return [f"{name}:{path}" for name, path in zip(names, self.locations(), strict=True)]

    def harvest(self, **options: Any) -> Any:
        """Harvest in this process, which nobody kills."""
        return harvest.run(
            small_inputs.sources(self.inputs),
            self.sinks(),
            settings=plugin_settings(small_inputs.settings()),
            deleted="drop",
            **{"workers": 1, **options},
        )

    def start(self, *more: str, workers: int = 2, **environment: str) -> subprocess.Popen[str]:
        """Begin the same harvest in a process group of its own."""
        return start(self.arguments(workers) + list(more), **environment)

    def arguments(self, workers: int = 2) -> list[str]:
        words = ["run", "--workers", str(workers), "--deleted", "drop"]
        for source in small_inputs.sources(self.inputs):
            words += ["-s", source]
        for sink in self.sinks():
            words += ["-k", sink]
        for setting in small_inputs.settings():
            words += ["-o", setting]
        return words

    def copy(self, target: Path) -> Place:
        small_inputs.copy(self.folder, target)
        return attrs.evolve(self, folder=target)


def with_two_commits(folder: Path, *names: str) -> Place:
    """Datasets of these sources, or all, with two commits, and inputs that have changed since."""
    place = Place(folder / "base", folder / "inputs")
    for version in (2, 1):
        small_inputs.write(place.inputs, version, names)
        place.harvest()
    small_inputs.write(place.inputs, 2, names)
    return place


def start(
    words: list[str], *, before: Sequence[str] = (), **environment: str
) -> subprocess.Popen[str]:
    """Begin a command in a process group of its own; ``before``: words to start it with."""
    return subprocess.Popen(
        [*before, sys.executable, "-m", "harvest", *words],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def killed_at(process: subprocess.Popen[str]) -> bool:
    """Wait for a process that a fault point may kill; whether it did."""
    _, said = process.communicate(timeout=300)
    assert process.returncode in (0, 3, -signal.SIGKILL), said
    return process.returncode == -signal.SIGKILL


STOPPING = """
import os, signal, sys
from harvest import fault
from harvest.__main__ import main

class Each:
    def __init__(self, names):
        self.left = set(names)
        self.out = os.fdopen(os.dup(1), "w")  # while a plugin acts, 1 is standard error

    def pass_point(self, name):
        if name in self.left:
            self.left.remove(name)
            print(name, file=self.out, flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)

fault._fault = Each(sys.argv.pop(1).split(","))
main()
"""


def stopped_at_each(
    words: list[str], points: Sequence[str]
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A command that stops at each of these fault points, as it first passes it, and goes on."""
    command = [sys.executable, "-c", STOPPING, ",".join(points), *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            while os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]):
                yield process.stdout.readline().strip(), process
                kill_group(process, signal.SIGCONT)
        finally:
            kill_group(process)


def kill_group(process: subprocess.Popen[str], number: signal.Signals = signal.SIGKILL) -> None:
    # not once it was waited for: its number may be another's by then
    if process.poll() is None:
        os.killpg(process.pid, number)


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    """Until a fault point has stopped the process."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), process.stderr and process.stderr.read()


def wait_until_gone(process: subprocess.Popen[str]) -> None:
    """Until no process of the group is left; what helps Python's workers ends last."""
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.killpg(process.pid, 0)
            time.sleep(0.05)


def left_of(mark: str) -> list[int]:
    """Processes with this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                entry.name.isdigit()
                and f"{MARK}={mark}\0".encode() in Path(entry / "environ").read_bytes()
            ):
                found.append(int(entry.name))
    return found


def wait_for_lock(process: subprocess.Popen[str], state: Path) -> None:
    """Until the run has locked its first dataset: from there on it works."""
    while process.poll() is None and not _is_locked(state):
        time.sleep(0.005)


def _is_locked(state: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return (state / "lock").stat().st_size > 0
    return False


# --- what must hold -------------------------------------------------------------------------------


def check_readable(place: Place) -> None:
    """Whatever was cut short, each dataset is whole: all that its manifest names is there."""
    for location, state in zip(place.locations(), place.states(), strict=True):
        manifest = Manifest.load(state)
        if manifest is None:
            continue
        for part in manifest:
            for file in part.files:
                data = _bytes_of(location, state, file)
                assert hashlib.sha256(data).hexdigest() == file.sha256, file.path
            if part.rejects:
                data = (state / part.rejects.path).read_bytes()
                assert hashlib.sha256(data).hexdigest() == part.rejects.sha256


def _bytes_of(location: Path, state: Path, file: Any) -> bytes:
    if file.offset is None:
        return (location / file.path).read_bytes()
    data = b""
    # between a commit and its rename, the consolidated file is still beside its state
    for path in (location, *state.glob("next-*")):
        data = path.read_bytes()[file.offset :][: file.size_bytes] if path.exists() else b""
        if hashlib.sha256(data).hexdigest() == file.sha256:
            break
    return data


def finished(place: Place) -> list[set[str]]:
    """For each dataset, the keys of partitions that are staged in full."""
    found = []
    for state in place.states():
        found.append({staged.part.key for staged in staged_parts(state).values()})
    return found


def check_nothing_read_twice(before: list[set[str]], result: Any) -> None:
    """No partition that was staged for a dataset is read for it again."""
    for planned in result.plan.partitions:
        for number in planned.read_for:
            assert planned.part.key not in before[number], planned.part.origin


def contents(place: Place) -> dict[str, Any]:
    """Everything that two datasets must have in common: names, bytes, parts; not run ids."""
    found: dict[str, Any] = {}
    for location, state in zip(place.locations(), place.states(), strict=True):
        name = location.name
        files = {location} if location.suffix else set(location.rglob("*"))
        for path in sorted(files):
            if path.is_file() and state not in path.parents:
                found[f"{name}/{path.relative_to(place.folder)}"] = path.read_bytes()
        found |= {f"{name} {key}": value for key, value in _state(state).items()}
    return found


def _state(state: Path) -> dict[str, Any]:
    document = orjson.loads((state / "manifest.json").read_bytes())
    order = {run: number for number, run in enumerate(document["runs"])}
    manifest = Manifest.load(state)
    assert manifest is not None
    parts = [{**plain(part), "run": order[part.run], "facts": ""} for part in manifest.check()]
    for part in parts:
        part["notes"] = sorted(part["notes"])
    named = {f"{run}.json" for run in (*document["kept"], document["run"])}
    assert {path.name for path in state.glob("history/*")} == named
    segments = {
        entry["file"]
        for path in (state / "manifest.json", *state.glob("history/*"))
        for entry in orjson.loads(path.read_bytes())["segments"]
    }
    assert {path.name for path in state.glob("segments/*")} == segments
    assert {path.name for path in state.glob("copies/*")} == segments
    assert {path.stem for path in state.glob("runs/*")} == set(document["runs"])
    assert not list(state.glob("staging/*"))
    known = {
        *("manifest.json", "segments", "copies", "staging", "runs", "history", "kept", "rejects"),
        *(path.name for path in state.glob("lock*")),
    }
    assert {path.name for path in state.iterdir()} <= known
    return {
        "parts": parts,
        "runs": len(order),
        "kept": [order[run] for run in document["kept"]],
        "kept files": {path.name: path.read_bytes() for path in state.glob("kept/*")},
        "rejects": {path.name: path.read_bytes() for path in state.glob("rejects/*")},
    }


def check_equal(place: Place, expected: dict[str, Any]) -> None:
    """The datasets are what an undisturbed run made of the same inputs, byte for byte."""
    found = contents(place)
    assert sorted(found) == sorted(expected)
    for name, value in expected.items():
        assert found[name] == value, name
    # so their rows are the same, which one of them shows
    assert harvest.open(place.locations()[0]).verify() == []


def contents_seen(place: Place) -> dict[str, bytes]:
    """What readers who know nothing of manifests see."""
    found = {}
    for location, state in zip(place.locations(), place.states(), strict=True):
        for path in [location] if location.suffix else sorted(location.rglob("*")):
            if path.is_file() and state not in path.parents:
                found[str(path.relative_to(place.folder))] = path.read_bytes()
    return found
