"""Promises about commits: all of one is there, or nothing, whatever happens while it is made."""

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
from harvest_testing.lab.files import Switch, differing, files_below, spread
from harvest_testing.lab.globals import at_home_in, require_closed
from harvest_testing.lab.process import in_process
from harvest_testing.promise import promise, raises_nothing, require
from harvest_testing.source.reading import difference, harvest_into

from .driver import SinkDriver
from .kit import REPORTED, SinkKit, no_space_beyond
from .values import LINE, OTHER, Line, Other, lines

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


class CommitPromises(SinkKit):
    """The tests that take commits step by step, in which the disk fails, or a run is killed."""

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

    @promise("a partition can be replaced and taken out; the others stay", quick=True)
    def test_parts_are_replaced_and_removed(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        a, b, c = (lines(LINE, 1, 2, origin=f"/in/{key}") for key in "abc")
        driver.commit({"a": [(LINE, a)], "b": [(LINE, b)], "c": [(LINE, c)]})
        new = lines(LINE, 1, 2, 3, text="new", origin="/in/b")
        driver.commit({"b": [(LINE, new)]})
        self.require_rows(driver, LINE, a, new, c, after="after one partition was replaced")
        driver.commit({"a": None})
        self.require_rows(driver, LINE, new, c, after="after one partition was taken out")
        driver.commit({"b": [(OTHER, lines(OTHER, 1, origin="/in/b"))]})
        self.require_rows(driver, LINE, c, after="after a partition changed its record type")
        driver.commit({"b": [(LINE, c)], "c": [(LINE, a)]})
        self.require_rows(driver, LINE, c, a, after="after two partitions changed at once")
        driver.commit({"b": []})
        self.require_rows(driver, LINE, a, after="after a partition was left without rows")

    @promise("a commit that is given up before the manifest leaves the old rows", quick=True)
    def test_commits_can_be_given_up(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
        driver.commit({"a": [(LINE, old)]})
        token = f"commit-{driver.commits}"
        for publishing in (False, True):
            publication = driver.stage({"a": [(LINE, new)], "b": [(LINE, new)]})
            if publishing:
                driver.sink.publish(publication)  # and the manifest is never renamed
            self.require_rows(driver, LINE, old, after="before the manifest is renamed")
            driver.recover(token)
            self.require_rows(driver, LINE, old, after="after the next run tidied up")
        shutil.rmtree(driver.sink.state / "staging")
        driver.commit({"a": [(LINE, new)]})
        self.require_rows(driver, LINE, new, after="after the commit that followed")

    @promise("at every step, readers see the old rows or the new ones", quick=True)
    def test_readers_see_old_or_new(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        a, b, new = lines(LINE, 1), lines(LINE, 1, 2), lines(LINE, 1, 2, 3, text="new")
        driver.commit({"a": [(LINE, a)], "b": [(LINE, b)]})
        publication = driver.stage({"a": [(LINE, new)], "b": [(LINE, b)], "c": [(LINE, a)]})

        def see_old(number: int, step: str) -> None:
            self.require_scan(driver.sink, publication.old, LINE, a, b, after=f"before {step}")

        def see_new(number: int, step: str) -> None:
            self.require_rows(driver, LINE, new, b, a, after=f"before {step}")

        with Switch(see_old).armed():
            final = driver.sink.publish(publication)
        see_old(0, "the manifest is renamed")
        driver.files = {k: tuple(final.get(k, files)) for k, files in publication.parts.items()}
        see_new(0, "finish()")
        with Switch(see_new).armed():
            driver.finish(publication)
        see_new(0, "the end")

    @promise("other readers of the format find the committed rows and no others", quick=True)
    def test_native_readers_find_what_is_committed(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            a, b, c = (lines(LINE, 1, 2, origin=f"/in/{key}") for key in "abc")
            driver.commit({"a": [(LINE, a)], "b": [(LINE, b)], "c": [(LINE, c)]})
            self._require_natively_found(driver, a, b, c)
            new = lines(LINE, 1, 2, 3, text="new", origin="/in/b")
            driver.commit({"b": [(LINE, new)]})
            driver.commit({"a": None})
            token = f"commit-{driver.commits}"
            driver.sink.publish(driver.stage({"b": [(LINE, a)]}))  # and it is given up
            driver.recover(token)
            self._require_natively_found(driver, new, c)

    def _require_natively_found(self, driver: SinkDriver, *tables: pa.Table) -> None:
        columns = ("origin", "position", "text")
        found = self.read_natively(driver.sink.location, LINE).select(columns).rows()
        wanted = [tuple(row[n] for n in columns) for table in tables for row in table.to_pylist()]
        require(
            sorted(found) == sorted(wanted),
            f"the format's own tools find {sorted(found)}, committed are {sorted(wanted)}",
            "remove rows that are replaced or given up, and let rows be found from finish() on",
        )

    @promise("commits leave nothing behind: not beside the location, nor in it", quick=True)
    def test_commits_leave_nothing_behind(self, tmp_path: Path) -> None:
        own: list[str] = []
        with at_home_in(tmp_path / "home"):
            for driver in self.drivers(tmp_path / "datasets"):
                root, location = driver.sink.root, os.path.abspath(driver.sink.location)  # noqa: PTH100
                one_file = os.fspath(root) == os.path.dirname(location)  # noqa: PTH120
                own += [location if one_file else os.fspath(root), os.fspath(driver.sink.state)]
                first, then = (self._names_after(driver, commits) for commits in (3, 4))
                require_closed(tmp_path)
                more = [name for name in then if name not in first]
                require(
                    len(then) <= len(first),
                    f"four more commits of as many rows leave {len(then) - len(first)} more "
                    f"files, as {', '.join(more[:3])}",
                    "let finish() remove what the new manifest does not name, and close() what it "
                    "made on the way",
                )
        files = (os.fspath(tmp_path / name) for name in files_below(tmp_path))
        strays = [name for name in files if not name.startswith(tuple(own))]
        require(
            not strays,
            f"files are left elsewhere: {', '.join(strays)}",
            "write at the location and below state; for what is passing, below staging",
        )

    def _names_after(self, driver: SinkDriver, commits: int) -> list[str]:
        """Names of all files after some commits that replace all rows, and some given up."""
        for _ in range(commits):
            rows = lines(LINE, 1, text=f"of commit {driver.commits}")
            changes = {key: [(LINE, rows), (OTHER, lines(OTHER, 1))] for key in "ab"}
            driver.commit(changes)
            token = f"commit-{driver.commits}"
            driver.sink.publish(driver.stage(changes))  # and the manifest is never renamed
            driver.recover(token)
        return list(files_below(driver.sink.root, but=driver.sink.state / "staging"))


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
