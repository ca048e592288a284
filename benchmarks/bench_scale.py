"""What a run costs that has little to do in a dataset of very many small inputs.

    python benchmarks/bench_scale.py darshan LOG [--inputs 10000 100000] [--folder DIR]
    python benchmarks/bench_scale.py ncem        [--inputs 10000 100000] [--folder DIR]

Inputs are hard links of one small Darshan log, or NCEM receiver statuses that are made here.  Of
logs a thousand are harvested; the dataset of all is that one, multiplied: its Parquet files by hard
links, its parts by description, so that the state is what a harvest of all would leave.  Statuses
are harvested all: about 2,000 of them are one part.  Then, each in a process of its own:

- walk: listing the directories and asking for the state of each file, with nothing else;
- plan: what a first run would read, into an empty place;
- nothing new: a run that finds every input unchanged;
- one and one: a run that finds one new input and one changed;
- 1,000 new: a run that finds so many new inputs; commit: what of it comes when all are read;
- query: counting the rows of one record type.

It prints seconds by the clock and of CPU, peak memory, and what the state takes on disk.
"""

import argparse
import hashlib
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attrs

import harvest
from harvest.api.sink import PartFile
from harvest.api.source import Partition
from harvest.pipeline.prepare import Observer
from harvest.pipeline.session import execute
from harvest.plugins.registry import manager
from harvest.recipes.recipe import Endpoint, Recipe
from harvest.storage.fingerprint import facts, fingerprint
from harvest.storage.manifest import NAME, Manifest
from harvest.storage.part import Part, part_key, part_stem
from harvest_darshan.source import DarshanSource

FOLDER = 1_000
"""Inputs in one directory, and parts that share files."""

LINKS = 20_000
"""Links to one file: a file system allows so many."""

PLAN = "import harvest,sys; print(harvest.run(sys.argv[1], sys.argv[2], dry_run=True))"
WALK = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        os.stat(os.path.join(folder, name))
"""
STATUS = (
    '{{"time": "2024-04-19T10:{:02}:{:02}.000000+00:00", "last_scan_number": {}, '
    '"progress": 1.0, "UUID": "{:032x}"}}'
)
RECEIVERS = 4
COUNTED = {"darshan": "darshan.job", "ncem": "ncem.receiver_status"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=sorted(COUNTED), help="of which inputs are")
    parser.add_argument("log", type=Path, nargs="?", help="a small Darshan log")
    parser.add_argument("--inputs", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--folder", type=Path, help="where to work; enough inodes are needed")
    arguments = parser.parse_args()
    if arguments.kind == "darshan" and arguments.log is None:
        parser.error("darshan needs a LOG")
    print(f"{'inputs':>9}  {'step':<12}{'seconds':>9}{'CPU s':>9}{'MB':>8}")
    for count in arguments.inputs:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
            measure(arguments.kind, arguments.log, Path(scratch), count)


def measure(kind: str, log: Path | None, scratch: Path, count: int) -> None:
    """Print the table of one number of inputs."""
    inputs, out, location = scratch / "in", scratch / "out", f"{kind}:{scratch / 'in'}"
    if log is not None:
        apart(harvest_some, log, inputs, out, count)
    else:
        write_statuses(inputs, range(count))
    run = ["-m", "harvest", "run", "-s", location, "-k", f"parquet:{out}", "--workers", "1"]
    say(count, "walk", ["-c", WALK, str(inputs)])
    say(count, "plan", ["-c", PLAN, location, f"parquet:{scratch / 'nowhere'}"])
    time.sleep(2.5)  # until the inputs are old enough for their times to be relied on
    if log is not None:
        apart(multiply, inputs, out)
    else:
        say(count, "all", run)
    say(count, "nothing new", run)
    if log is not None:
        change(log, inputs)
    else:
        write_statuses(inputs, range(count, count + 1))
        write_statuses(inputs, range(1), minute=1)
    say(count, "one and one", run)
    if log is not None:
        link_inputs(log, inputs, range(count, count + FOLDER))
    else:
        write_statuses(inputs, range(count + 1, count + 1 + FOLDER))
    apart(harvest_new, count, kind, inputs, out)
    words = f'select count(*) from "{COUNTED[kind]}"'
    say(count, "query", ["-m", "harvest", "query", str(out), words])
    state = sum(path.stat().st_size for path in (out / "_harvest").rglob("*") if path.is_file())
    print(f"{count:>9}  {'state':<12}{state / count:>9.0f} bytes an input", flush=True)


def apart(function: Callable[..., None], *arguments: object) -> None:
    """Call a function in another process: the memory of this one would count for its children."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(process.exitcode)


def harvest_some(log: Path, inputs: Path, out: Path, count: int) -> None:
    """Harvest some inputs, and link the others."""
    link_inputs(log, inputs, range(min(count, FOLDER)))
    harvest.run(f"darshan:{inputs}", f"parquet:{out}", workers=1)
    link_inputs(log, inputs, range(FOLDER, count))


def link_inputs(log: Path, inputs: Path, numbers: range) -> None:
    """Hard links of a log, in directories."""
    for number in numbers:
        folder = inputs / f"{number // FOLDER:04}"
        if number % FOLDER == 0:
            folder.mkdir(parents=True)
        if number % LINKS in (0, 1) or number == numbers.start:  # the first is to change alone
            first = inputs.with_name(f"original{number}")
            shutil.copyfile(log, first)
        os.link(first, folder / f"user_app_id{number:07}_4-19-68487-660738.darshan")


def write_statuses(inputs: Path, numbers: range, minute: int = 0) -> None:
    """Receiver statuses, four of each scan, in one directory."""
    inputs.mkdir(exist_ok=True)
    for number in numbers:
        scan, receiver = divmod(number, RECEIVERS)
        name = f"4dstem_rec_status_{receiver}_scan_{scan}.json"
        text = STATUS.format(minute, number % 60, scan, number)
        (inputs / name).write_text(text)


def multiply(inputs: Path, out: Path) -> None:
    """Make a dataset of the inputs of one directory one of those of all."""
    state = out / "_harvest"
    manifest = Manifest.load(state)
    assert manifest is not None
    parts = manifest.parts
    patterns = list(parts.values())
    more: dict[str, Part] = {}
    partitions = list(DarshanSource(str(inputs)).plan())[len(patterns) :]
    for number, partition in enumerate(partitions):
        if number % len(patterns) == 0:
            links: dict[str, str] = {}
        part = described(patterns[number % len(patterns)], partition, links, out)
        more[part.key] = part
        if len(more) == 50 * FOLDER:
            parts, more = parts.changed(more), {}
    attrs.evolve(manifest, parts=parts.changed(more)).write(state / NAME)


def described(pattern: Part, partition: Partition, links: dict[str, str], out: Path) -> Part:
    """The part of an input like another, whose files are linked."""
    key, state = part_key("darshan", partition), fingerprint(partition.inputs)
    return attrs.evolve(
        pattern,
        key=key,
        stem=part_stem(key, partition.id, state, pattern.plugin, pattern.config),
        partition=partition.id,
        origin=partition.origin,
        fingerprint=state,
        facts=(facts(partition.inputs) or b"").hex(),
        files=tuple(attrs.evolve(f, path=linked(f, key, links, out)) for f in pattern.files),
    )


def linked(file: PartFile, key: str, links: dict[str, str], out: Path) -> str:
    if file.path not in links:
        tail = hashlib.sha256(f"{file.path} {key}".encode()).hexdigest()
        links[file.path] = f"{file.record_type}/shared-{key}-{tail[:12]}.parquet"
        os.link(out / file.path, out / links[file.path])
    return links[file.path]


def change(log: Path, inputs: Path) -> None:
    """One input more, and one that has changed."""
    first = min((inputs / "0000").iterdir())
    first.unlink()
    shutil.copyfile(log, first)
    shutil.copyfile(log, inputs / "0000" / "user_app_idnew_4-19-68487-660738.darshan")


class Watching(Observer):
    """Remembers when the last input was read, and the CPU time used until then."""

    def finished(self, part: Part) -> None:
        self.at = time.monotonic(), time.process_time()


def harvest_new(count: int, kind: str, inputs: Path, out: Path) -> None:
    """Print what a run costs, and what of it is its commit."""
    recipe = Recipe(
        sources=(Endpoint(kind, str(inputs)),), sinks=(Endpoint("parquet", str(out)),), workers=1
    )
    watching, begun = Watching(), (time.monotonic(), 0.0)
    execute(recipe, manager(), observer=watching)
    ended = time.monotonic(), time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    for step, (wall, cpu) in {"1,000 new": begun, "commit": watching.at}.items():
        say_row(count, step, ended[0] - wall, ended[1] - cpu, peak)


def say(count: int, step: str, words: list[str]) -> None:
    """Print what a command costs, in a process of its own."""
    begun = time.monotonic()
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)}: {process.returncode}")
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
    say_row(count, step, wall, cpu, peak)


def say_row(count: int, step: str, wall: float, cpu: float, peak: int) -> None:
    print(f"{count:>9}  {step:<12}{wall:>9.1f}{cpu:>9.1f}{peak:>8}", flush=True)


if __name__ == "__main__":
    main()
