"""Trying a plugin by its conformance class, as its author would, in a process of its own.

That process is forked from one that has imported the kit already; promises that were quick with
the sound plugin are tried first, and the first that fails ends it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import attrs

from .planting import Bug, install

LIMIT_S: Final = 600
NO_END: Final = "(no end)"
LONG: Final = {
    "test_killed_runs_resume": {"identity"},
    "test_memory_is_bounded": {"memory"},
    "test_another_process_gives_the_same": {
        *("order", "surroundings", "settings", "state kept", "texts changed", "times"),
    },
    "test_deep_nesting_is_refused": {"errors end the run", "surroundings"},
    "test_a_full_disk_is_told": {"errors swallowed"},
    "test_no_failure_is_swallowed": {"errors swallowed", "durability", "left behind"},
    "test_killed_commits_resume": {"durability", "left behind", "commits"},
    "test_commits_leave_nothing_behind": {"left behind", "commits"},
    "test_earlier_states_can_be_put_back": {"commits", "left behind"},
    "test_foreign_changes_are_noticed": {"foreign changes"},
    "test_interrupts_pass": {"errors swallowed", "interruptions"},
    "test_what_libraries_write_is_flushed": {"durability"},
    "test_writers_work_in_other_processes": {"state kept", "surroundings"},
    "test_the_dataset_is_that_of_the_engine_local": {
        *("bundles lost", "left behind", "names", "settings", "surroundings"),
    },
    "test_bundles_are_prepared_in_order_and_read_once": {"position", "settings", "surroundings"},
    "test_results_come_as_they_are_done": {"results held back"},
    "test_a_lost_worker_costs_no_row": {"bundles lost", "lost workers", "position"},
    "test_workers_are_not_replaced_without_end": {"bundles lost", "errors swallowed"},
    "test_settings_are_read": {"settings"},
    "test_an_interrupted_run_ends_and_the_next_goes_on": {"interruptions"},
    "test_a_killed_run_leaves_no_worker": {"left behind", "surroundings"},
    "test_progress_is_reported": {"progress"},
    "test_what_stops_a_bundle_stops_the_run": {
        *("bundles lost", "errors changed", "errors swallowed", "left behind", "surroundings"),
    },
    "test_runs_are_independent": {"progress", "state kept", "surroundings"},
    "test_a_source_of_the_program_is_read_or_refused": {"types"},
    "test_bundles_are_not_gathered": {"memory", "types"},
}
"""Tests that take seconds, and the kinds of bugs that they are about; others are spared them."""

_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) [^:]+::(?:\w+::)?(\w+)", re.MULTILINE)


@attrs.frozen
class Outcome:
    """What came of a plugin's conformance class.

    caught: the promise that failed first; None where all were kept.
    seconds: of processor time; output: what pytest printed.
    quick: the tests of the class, the quickest first.
    """

    caught: str | None
    seconds: float
    output: str
    quick: tuple[str, ...] = ()


def attempt(
    plugin: str, bug: Bug | None = None, *, quick: tuple[str, ...] = (), long: bool = False
) -> Outcome:
    """Run the class of a plugin, with a bug in it.

    quick: the order of its tests; long: no test is spared, whatever kind the bug is of.
    Raises RuntimeError where pytest could not run it at all.
    """
    spared = set[str]()
    if bug is not None and not long:
        spared = {name for name, kinds in LONG.items() if bug.kind not in kinds}
    before = os.times()
    with tempfile.TemporaryDirectory(prefix="planted-") as name:
        directory = Path(name)
        (directory / "tmp").mkdir()
        test = install(plugin, directory, bug)
        process = os.fork()
        if process == 0:
            _child(directory, test, quick, spared)
        code = _ended(process)
        said = (directory / "output").read_text(errors="replace")
        took = directory / "durations.json"
        order = tuple(json.loads(took.read_text())) if took.exists() else ()
    after = os.times()
    spent = after.children_user - before.children_user
    spent += after.children_system - before.children_system
    if code is None:
        return Outcome(NO_END, spent, said)
    if code == 0:
        return Outcome(None, spent, said, order)
    failed = _FAILED.search(said)
    if code != 1 or failed is None:
        raise RuntimeError(f"{plugin}: pytest ended with {code}\n{said}")
    return Outcome(failed[1], spent, said)


def _ended(process: int) -> int | None:
    """The exit code of a process; None where it had to be ended, with those that it began."""
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def _child(directory: Path, test: Path, quick: tuple[str, ...], spared: set[str]) -> None:
    code: Any = 70
    try:
        os.setsid()
        os.chdir(directory)
        output = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        paths = [str(directory), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        os.environ["TMPDIR"] = str(directory / "tmp")
        tempfile.tempdir = None
        sys.path.insert(0, str(directory))
        import pytest

        words = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", test.name]
        code = int(pytest.main(words, plugins=[_Order(quick, spared)]))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Order:
    """Has pytest try what was quick first, and keeps how long each test took."""

    def __init__(self, quick: tuple[str, ...], spared: set[str]):
        self.spared = spared
        self.quick = {name: place for place, name in enumerate(quick)}
        self.took: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.originalname not in self.spared]
        items.sort(key=lambda item: self.quick.get(item.name, -1))

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.rpartition("::")[2]
        self.took[name] = self.took.get(name, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        order = sorted(self.took, key=lambda name: self.took[name])
        Path("durations.json").write_text(json.dumps(order))
