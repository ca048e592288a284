"""Promises about kills and failures of the disk: all of a commit is there, or nothing."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

import harvest
from harvest import PartFile, Partition, Publication, ReadContext, Sink, Source
from harvest.plugins import plugins_of
from harvest_testing.lab.files import differing, files_below
from harvest_testing.lab.process import in_process
from harvest_testing.lab.steps import Switch, spread
from harvest_testing.promise import promise, raises_nothing, require
from harvest_testing.source.reading import difference
from harvest_testing.source.runs import harvest_into

from .kit import REPORTED, SinkKit, no_space_beyond
from .values import LINE, Line, Other, lines

T = TypeVar("T")

NO_SPACE = {1: 10, 1 << 17: 10_000}
"""Bytes beyond which a file cannot grow while the disk is said to be full: rows that take more.

With the least, it is often the close of a file that fails, since writes are buffered.
"""
TRIED = 12
"""Steps of a commit that fail, spread from the first to the last."""
KILLS = 6
"""Steps of a commit at which runs are killed, spread likewise."""

READABLE = "leave in place what the manifest in force names; write beside it, and rename"


class FailurePromises(SinkKit):
    """The tests in which the disk fails, or a run is killed."""

    @promise("a full disk is reported, and costs nothing but the commit", quick=True)
    def test_a_full_disk_is_told(self, tmp_path: Path) -> None:
        for space, rows in NO_SPACE.items():
            driver = self.driver(tmp_path / f"{space}")
            driver.small_bytes = 0
            old, new = lines(LINE, 1), _incompressible(rows)
            driver.commit({"a": [(LINE, old)]})
            with no_space_beyond(space):
                staged = _unless_reported(lambda: driver.stage({"b": [(LINE, new)]}))  # noqa: B023
            if staged is None:
                self.require_rows(driver, LINE, old, after="after the disk was full while writing")
                shutil.rmtree(driver.sink.state / "staging")
                staged = driver.stage({"b": [(LINE, new)]})
            with no_space_beyond(space):
                published = _unless_reported(lambda: driver.sink.publish(staged))  # noqa: B023
            if published is None:
                self.require_rows(driver, LINE, old, after="after the disk was full in publish()")
            driver.publish(staged)
            driver.finish(staged)
            self.require_rows(driver, LINE, old, new, after="after there was space again")

    @promise("killed at any step of a commit, the next run leaves what an undisturbed one does")
    def test_killed_commits_resume(self, tmp_path: Path) -> None:
        base, whole, inputs = tmp_path / "base", tmp_path / "undisturbed", tmp_path / "inputs"
        old = self._harvested(base, inputs)
        _change(inputs)
        shutil.copytree(base, whole)
        steps = self._run_killed(whole, inputs, 0, tmp_path)
        new, _ = read_back(self.sink, self.location(whole))
        expected = self._contents(whole)
        for at in spread(len(steps), KILLS):
            out = tmp_path / f"killed {at}"
            shutil.copytree(base, out)
            taken = self._run_killed(out, inputs, at, tmp_path)
            when = f"killed before step {at}, {taken[-1]}"
            self._require_same(out, new if "publish() ends" in taken[:-1] else old, when)
            after = f"{when}, and run again"
            with raises_nothing(
                f"{after}, the run fails: ",
                "let publish() and finish() work whatever a killed commit left behind",
            ):
                self._run(self.location(out), inputs)
            self._require_same(out, new, after, verified=True)
            others = differing(self._contents(out), expected)
            require(
                not others,
                f"{after}, these files differ: {others}",
                "let names and contents depend on the rows alone, and let finish() remove what no "
                "manifest names",
            )

    @promise("the state that an earlier run left can be put back, and harm to files is noticed",
             quick=True)  # fmt: skip
    def test_earlier_states_can_be_put_back(self, tmp_path: Path) -> None:
        inputs, location = tmp_path / "inputs", self.location(tmp_path / "dataset")
        old = self._harvested(tmp_path / "dataset", inputs)
        dataset = harvest.open(location, plugins=plugins_of(LineSource, self.sink))
        (first,) = (run["run"] for run in dataset.runs())
        _change(inputs)
        self._run(location, inputs)
        new, _ = read_back(self.sink, location)
        with raises_nothing(
            "going back to the first run fails: ",
            "let publish() take staged files that are those of an earlier state, too: they are "
            "described as publish() once returned them, but for their offset",
        ):
            dataset.rollback(first)
        after = "after going back to the first run"
        self._require_same(tmp_path / "dataset", old, after, verified=True)
        self._run(location, inputs)
        after = "after the run that followed"
        self._require_same(tmp_path / "dataset", new, after, verified=True)
        dataset = harvest.open(location, plugins=plugins_of(LineSource, self.sink))
        file = next(file for part in dataset.parts for file in part.files)
        path, at = dataset.sink.root / file.path, (file.offset or 0) + file.size_bytes // 2
        sound = path.read_bytes()
        path.write_bytes(sound[:at] + bytes((sound[at] ^ 1,)) + sound[at + 1 :])
        remedy = "give each file its size and checksum as written in what publish() returns"
        require(dataset.verify(), f"a byte of {path.name} is another; verify is content", remedy)

    def _run(self, location: Path | str, inputs: Path) -> None:
        """Harvest a directory of text files, in this process."""
        harvest_into(self.sink, location, LineSource, inputs, {self.sink.name: self.settings})

    def _harvested(self, directory: Path, inputs: Path) -> list[Any]:
        """Harvest three files of text; gives the rows."""
        self.open(directory)
        inputs.mkdir()
        for name in "abc":
            (inputs / name).write_text(f"{name}\none\ntwo\n")
        self._run(self.location(directory), inputs)
        return read_back(self.sink, self.location(directory))[0]

    def _run_killed(self, directory: Path, inputs: Path, at: int, scratch: Path) -> list[str]:
        """Run in a process that is killed before a step, none if 0; gives the steps it came to."""
        steps = scratch / f"steps {at}"
        task = (self.sink, self.location(directory), self.settings, inputs, steps, at)
        ended = in_process(_run_to_step, *task, scratch=scratch)
        status = -signal.SIGKILL if at else 0
        require(ended.status == status, ended.errors[-2000:], "see what the run says")
        return steps.read_text("utf-8", "replace").splitlines()

    def _contents(self, directory: Path) -> dict[str, bytes | None]:
        """All files but the state; their contents where these are the same each time."""
        found = files_below(directory, but=self.configured(self.location(directory)).state)
        return {name: data if self.deterministic else None for name, data in found.items()}

    def _require_same(
        self, out: Path, rows: list[Any], after: str, *, verified: bool = False
    ) -> None:
        with raises_nothing(f"{after}, it cannot be read: ", READABLE):
            found, problems = read_back(self.sink, self.location(out))
        shown = difference(map(repr, rows), map(repr, found))
        require(found == rows, f"{after}:\n{shown or 'rows in another order'}", READABLE)
        require(
            not (verified and problems),
            f"{after}, verify says {problems}",
            "give files their final path, size and checksum in what publish() returns, and change "
            "no committed file",
        )


class LineSource(Source):
    """Lines of text files, and the count of each file's lines."""

    name: ClassVar[str] = "conformance-lines"
    record_types: ClassVar[tuple[type[harvest.Record], ...]] = (Line, Other)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[harvest.Record]:
        """A row per line, and one for the file."""
        texts = partition.path.read_text().splitlines()
        for number, text in enumerate(texts, 1):
            yield Line(text=text, time=None, position=number)
        yield Other(text=len(texts), position=1)


def read_back(sink: type[Sink], location: Path | str) -> tuple[list[Any], list[str]]:
    """The rows of a dataset, and what ``harvest verify`` says of it."""
    dataset = harvest.open(location, plugins=plugins_of(LineSource, sink))
    rows: list[Any] = []
    for name in ("conformance.line", "conformance.other"):
        frame = dataset[name].select("text", "origin", "position").collect()
        rows += [(name, *row) for row in frame.rows()]
    return rows, dataset.verify()


def _change(inputs: Path) -> None:
    (inputs / "a").write_text("a\nchanged\n")
    (inputs / "d").write_text("d\nnew\n")


def _run_to_step(
    sink: type[Sink], location: Path, settings: Mapping[str, Any], inputs: Path, log: Path, at: int
) -> None:
    """Run into a sink, with every step of publishing and finishing logged; killed before one."""
    with log.open("wb", buffering=0) as steps:

        def before(number: int, step: str) -> None:
            steps.write(step.replace("\n", " ").encode("utf-8", "replace") + b"\n")
            if number == at:
                os.kill(os.getpid(), signal.SIGKILL)

        switch = Switch(before)

        class Watched(sink):  # type: ignore[misc, valid-type]
            def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
                with switch.armed():
                    final: Mapping[str, Sequence[PartFile]] = super().publish(publication)
                    switch.step("publish() ends")
                return final

            def finish(self, publication: Publication) -> None:
                with switch.armed():
                    super().finish(publication)
                    switch.step("finish() ends")

        harvest_into(Watched, location, LineSource, inputs, {sink.name: settings})


def _unless_reported(task: Callable[[], T]) -> T | None:
    """What the task gives; None where it reports that it failed."""
    remedy = "raise OSError or harvest.HarvestError, which the core reports to the user"
    with (
        contextlib.suppress(*REPORTED),
        raises_nothing("where the disk fails, it raises ", remedy, but=REPORTED),
    ):
        return task()
    return None


def _incompressible(rows: int) -> pa.Table:
    """Rows that take more space than there is, however they are packed."""
    chance = random.Random(1)  # noqa: S311 - the same in every run
    table = lines(LINE, *range(1, rows + 1))
    texts = [f"{chance.getrandbits(512):0128x}" for _ in range(table.num_rows)]
    index = table.schema.get_field_index("text")
    return table.set_column(index, table.schema.field(index), pa.array(texts))
