"""Promises about commits: whole or not at all, whatever happens while one is made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from harvest_testing.kits import (
    Switch,
    difference,
    done_in_process,
    files_below,
    promise,
    raises_nothing,
    require,
)

from .kills import Kill, kill_runs, read_back, run_into
from .kit import SinkKit
from .values import LINE, OTHER, lines

if TYPE_CHECKING:
    from .driver import SinkDriver

KILLS = 12
"""Steps of a commit at which runs are killed, spread from the first to the last."""

READABLE = "leave in place what the manifest in force names; write beside it, and rename"


class CommitPromises(SinkKit):
    """The tests that take commits step by step, or end them between steps."""

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

    @promise("writing the same rows again leaves the same dataset", quick=True)
    def test_the_same_again(self, tmp_path: Path) -> None:
        driver = self.driver(tmp_path)
        rows = lines(LINE, 1, 2)
        for _ in range(3):
            driver.commit({"a": [(LINE, rows)]})
            self.require_rows(driver, LINE, rows, after="after writing the same again")

    @promise("publish() and finish() may be repeated after they were cut short", quick=True)
    def test_publish_and_finish_can_be_repeated(self, tmp_path: Path) -> None:
        for driver in self.drivers(tmp_path):
            self._require_repeatable(driver)

    def _require_repeatable(self, driver: SinkDriver) -> None:
        old, new = lines(LINE, 1), lines(LINE, 1, 2, text="new")
        driver.commit({"a": [(LINE, old)], "b": [(LINE, old)]})
        publication = driver.stage({"a": [(LINE, new)], "b": None})
        driver.sink.publish(publication)
        driver.publish(publication)
        for _ in range(2):
            driver.finish(publication)
            self.require_rows(driver, LINE, new, after="after publishing and finishing twice")
        driver.commit({"c": [(LINE, old)]})
        self.require_rows(driver, LINE, new, old, after="after the commit that followed")

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

    @promise("killed at any step of a commit, the next run leaves what an undisturbed one does")
    def test_killed_commits_resume(self, tmp_path: Path) -> None:
        self.open(tmp_path / "check")
        inputs = tmp_path / "inputs"
        inputs.mkdir()
        for name in "abc":
            (inputs / name).write_text(f"{name}\none\ntwo\n")
        base, whole = tmp_path / "base", tmp_path / "undisturbed"
        base.mkdir()
        self._run(base, inputs)
        old, _ = read_back(self.sink, self.location(base))
        (inputs / "a").write_text("a\nchanged\n")
        (inputs / "d").write_text("d\nnew\n")
        outs = [_copy(base, tmp_path / f"killed {n}") for n in range(KILLS)]
        undisturbed, *kills = self._kills(inputs, [_copy(base, whole), *outs], tmp_path)
        require(not undisturbed.errors, undisturbed.errors[-2000:], "see what the run says")
        new, _ = read_back(self.sink, self.location(whole))
        expected = self._contents(whole)
        for out, kill in zip(outs, kills, strict=True):
            require(kill.killed, f"{kill.when}: {kill.errors[-2000:]}", "see what the run says")
            self._require_same(out, new if kill.published else old, kill.when)
            after = f"{kill.when}, and run again"
            self._run_after(after, out, inputs)
            self._require_same(out, new, after, verified=True)
            found = self._contents(out)
            require(
                found == expected,
                f"{after}, these files differ: "
                f"{sorted({name for name, _ in set(found.items()) ^ set(expected.items())})}",
                "let names and contents depend on the rows alone, and let finish() remove what no "
                "manifest names",
            )

    def _run(self, directory: Path, inputs: Path) -> None:
        run_into(self.sink, self.location(directory), self.settings, inputs)

    def _run_after(self, after: str, directory: Path, inputs: Path) -> None:
        with raises_nothing(
            f"{after}, the run fails: ",
            "let publish() and finish() work whatever a killed commit left behind",
        ):
            self._run(directory, inputs)

    def _kills(self, inputs: Path, outs: list[Path], scratch: Path) -> list[Kill]:
        """How runs into these directories ended: the first undisturbed, the others killed."""
        whole, *others = (str(self.location(out)) for out in outs)
        task = (self.sink, dict(self.settings), inputs, whole, others)
        kills: list[Kill] = done_in_process(kill_runs, *task, scratch=scratch)
        return kills

    def _contents(self, directory: Path) -> dict[str, bytes | None]:
        """All files but the state; their contents where these are the same each time."""
        found = files_below(directory, but=self.configured(self.location(directory)).state)
        return {name: data if self.deterministic else None for name, data in found.items()}

    def _require_same(
        self, out: Path, rows: list[object], after: str, *, verified: bool = False
    ) -> None:
        with raises_nothing(f"{after}, it cannot be read: ", READABLE):
            found, problems = read_back(self.sink, self.location(out))
        shown = difference(map(repr, rows), map(repr, found))
        require(found == rows, f"{after}:\n{shown or 'rows in another order'}", READABLE)
        require(
            not (verified and problems),
            f"{after}, verify says {problems}",
            "give files their final path, size and checksum in what publish() returns",
        )


def _copy(base: Path, target: Path) -> Path:
    return Path(shutil.copytree(base, target))
