"""However inputs change between runs, a dataset equals a fresh harvest of what is there now.

A state machine adds, appends to, rewrites, deletes and renames inputs of two sources, runs between
the changes, and compares.  Rows of deleted inputs stay or go, as the policy says.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from strength import times

import harvest
from harvest.pipeline.rollback import roll_back

pytestmark = pytest.mark.slow

SETTINGS = {"slurm": {"timezone": "UTC"}}
SINKS = ("parquet:P", "jsonl:J", "jsonl:F.jsonl")
HEADERS = {
    "slurm": "JobID|JobName|User|State|ExitCode|Elapsed|Start\n",
    "mofka-dask": ",key,start,finish,called_from,time\n",
}
LINES = {
    "slurm": "{n}|job {n}|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00\n",
    "mofka-dask": "{n},task-{n},released,waiting,tcp://h:1,{n}.5\n",
}
DAMAGED = {"slurm": "odd|{n}|ann|COMPLETED|0:0|00:00:05|x\n", "mofka-dask": "{n},damaged\n"}

FILES = st.tuples(st.sampled_from(["slurm", "mofka-dask"]), st.sampled_from("abcd"))
CONTENTS = st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=4)


def text(source: str, content: list[tuple[int, bool]]) -> str:
    """Lines of a source; those that are marked cannot be read."""
    return "".join((DAMAGED if bad else LINES)[source].format(n=n) for n, bad in content)


class Changes(RuleBasedStateMachine):
    """Inputs that change, and a dataset of each form that follows them."""

    @initialize(policy=st.sampled_from(["keep", "drop"]), settled=st.booleans())
    def begin(self, policy: str, settled: bool) -> None:
        """settled: the times of inputs are relied on, though these have just been written."""
        self.folder = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        if settled:
            self.patch.setattr("harvest.storage.fingerprint.SETTLED_NS", 0)
        self.policy = policy
        self.fresh = 0
        # rows and rejects by origin, of all that the dataset should hold
        self.expected: dict[str, Any] = {}
        for source in HEADERS:
            (self.folder / source).mkdir()
            self.path((source, "a")).write_text(HEADERS[source] + text(source, [(1, False)]))
        self.run()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.patch.undo()
            shutil.rmtree(self.folder)

    def path(self, name: tuple[str, str]) -> Path:
        source, stem = name
        return self.folder / source / f"{stem}.csv"

    def inputs(self, source: str) -> list[Path]:
        return sorted((self.folder / source).iterdir())

    # --- changes --------------------------------------------------------------------------------

    @rule(name=FILES, content=CONTENTS)
    def write(self, name: tuple[str, str], content: list[tuple[int, bool]]) -> None:
        """Add a file or rewrite one."""
        self.path(name).write_text(HEADERS[name[0]] + text(name[0], content))

    @rule(name=FILES, content=CONTENTS)
    def append(self, name: tuple[str, str], content: list[tuple[int, bool]]) -> None:
        if self.path(name).exists():
            with self.path(name).open("a") as file:
                file.write(text(name[0], content))

    @rule(name=FILES)
    def delete(self, name: tuple[str, str]) -> None:
        if len(self.inputs(name[0])) > 1:
            self.path(name).unlink(missing_ok=True)

    @rule(name=FILES, to=st.sampled_from("abcd"))
    def rename(self, name: tuple[str, str], to: str) -> None:
        if self.path(name).exists():
            self.path(name).rename(self.path((name[0], to)))

    @rule(name=FILES)
    def touch(self, name: tuple[str, str]) -> None:
        if self.path(name).exists():
            self.path(name).touch()

    # --- runs -----------------------------------------------------------------------------------

    def harvest(self, out: str, **options: Any) -> Any:
        return harvest.run(
            [f"{source}:{self.folder / source}" for source in HEADERS],
            [f"{name}:{self.folder / out}-{path}" for name, _, path in
             (sink.partition(":") for sink in SINKS)],
            settings=SETTINGS,
            workers=1,
            **options,
        )  # fmt: skip

    def datasets(self, out: str) -> list[Any]:
        return [harvest.open(f"{self.folder / out}-{sink.partition(':')[2]}") for sink in SINKS]

    @rule(force=st.booleans())
    def run(self, force: bool = False) -> None:
        self.harvest("D", deleted=self.policy, force=force)
        self.fresh += 1
        self.harvest(f"fresh{self.fresh}")
        fresh, *others = (held(dataset) for dataset in self.datasets(f"fresh{self.fresh}"))
        assert all(other == fresh for other in others)
        self.expected = {**(self.expected if self.policy == "keep" else {}), **fresh}
        for dataset in self.datasets("D"):
            assert held(dataset) == self.expected
        if self.expected == fresh:  # then even the consolidated files are the same
            names = (self.folder / out for out in ("D-F.jsonl", f"fresh{self.fresh}-F.jsonl"))
            mine, other = (path.read_bytes() for path in names)
            assert mine == other

    @rule()
    def run_without_a_change(self) -> None:
        self.run()
        assert self.harvest("D", deleted=self.policy).run is None

    @precondition(lambda self: all(d.manifest.kept for d in self.datasets("D")))
    @rule()
    def roll_back(self) -> None:
        """Each dataset to the state before its last commit, and forth again by the next run."""
        for dataset in self.datasets("D"):
            roll_back(dataset.sink, dataset.manifest.kept[-1])
        states = [held(dataset) for dataset in self.datasets("D")]
        assert all(state == states[0] for state in states)
        self.expected = states[0]

    @invariant()
    def nothing_is_damaged(self) -> None:
        for dataset in self.datasets("D"):
            assert dataset.verify() == []


def held(dataset: Any) -> dict[str, Any]:
    """What a dataset holds of each input: rows and rejects, in order."""
    found: dict[str, Any] = {part.origin: [] for part in dataset.manifest}
    for name in dataset:
        for row in dataset[name].sort("position").collect().to_dicts():
            found[row["origin"]].append((name, row))
    for reject in dataset.rejects():
        found[reject["origin"]].append(("reject", reject))
    return {origin: sorted(rows, key=str) for origin, rows in found.items()}


def test_after_each_run_a_dataset_equals_a_fresh_harvest() -> None:
    run_state_machine_as_test(
        Changes,
        settings=settings(
            max_examples=times("HARVEST_HISTORIES", day=1, night=12),
            stateful_step_count=12,
            suppress_health_check=list(HealthCheck),
        ),
    )
