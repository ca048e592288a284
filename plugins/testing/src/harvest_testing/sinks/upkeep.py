"""Promises about a dataset's files: none piles up, and none changes or goes unnoticed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import harvest
from harvest import PartFile
from harvest.plugins import plugins_of
from harvest_testing import BrokenPromise
from harvest_testing.kits import at_home_in, files_below, open_files, promise, require

from .driver import SinkDriver
from .kills import LineSource, read_back, run_into
from .kit import REPORTED, SinkKit
from .values import LINE, OTHER, lines


class UpkeepPromises(SinkKit):
    """The tests that look at files, and at datasets that runs wrote."""

    @promise("commits leave nothing behind: not beside the location, nor in it", quick=True)
    def test_commits_leave_nothing_behind(self, tmp_path: Path) -> None:
        own: list[Path] = []
        with at_home_in(tmp_path / "home"):
            for driver in self.drivers(tmp_path / "datasets"):
                own += _own_places(driver)
                first = self._names_after(driver, 3)
                then = self._names_after(driver, 4)
                more = [name for name in then if name not in first]
                held = open_files(tmp_path)
                require(not held, f"it leaves open: {held[:3]}", "close what a writer has opened")
                require(
                    len(then) <= len(first),
                    f"four more commits of as many rows leave {len(then) - len(first)} more "
                    f"files, as {', '.join(more[:3])}",
                    "let finish() remove what the new manifest does not name, and close() what it "
                    "made on the way",
                )
        strays = [
            name
            for name in files_below(tmp_path)
            if not any(os.fspath(tmp_path / name).startswith(os.fspath(place)) for place in own)
        ]
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

    @promise("what others change in committed files is noticed", quick=True)
    def test_foreign_changes_are_noticed(self, tmp_path: Path) -> None:
        inputs = self._harvested(tmp_path)
        location = self.location(tmp_path / "dataset")
        problems = self._problems(location)
        require(
            not problems,
            f"of an untouched dataset verify says {problems}",
            "give files their final path, size and checksum in what publish() returns",
        )
        (tmp_path / "other").mkdir()
        self._harvested(tmp_path / "other", "B")
        file, path = self._file_of_b(location)
        _, other = self._file_of_b(self.location(tmp_path / "other" / "dataset"))
        middle = (file.offset or 0) + file.size_bytes // 2
        sound = path.read_bytes()
        flipped = sound[:middle] + bytes((sound[middle] ^ 1,)) + sound[middle + 1 :]
        for words, data in (
            ("one byte is another", flipped),
            ("the end is cut off", sound[:middle]),
            ("it is gone", None),
            ("it is that of another dataset", other.read_bytes()),
        ):
            _replace(path, data)
            self._require_noticed(location, f"{file.path}: {words}")
            before = files_below(tmp_path / "dataset")
            with contextlib.suppress(Exception):  # it cannot be read, perhaps
                read_back(self.sink, location)
            changed = set(before.items()) ^ set(files_below(tmp_path / "dataset").items())
            require(
                not changed,
                f"{file.path}: {words}, and reading changes {sorted(n for n, _ in changed)}",
                "open files to read them alone",
            )
            if data is not None:
                _replace(path, sound)
        _replace(path, other.read_bytes())
        (inputs / "a").write_text("a\nchanged\n")
        with contextlib.suppress(*REPORTED):  # it may refuse to build on rows that are not its own
            # no earlier state is kept, or verify would find its files damaged
            run_into(self.sink, location, self.settings, inputs, keep_runs=0)
            self._require_noticed(location, f"{file.path}: {words}, and a run follows")

    def _file_of_b(self, location: Path | str) -> tuple[PartFile, Path]:
        """The first file that holds the rows of the input ``b``."""
        dataset = harvest.open(location, plugins=plugins_of(LineSource, self.sink))
        (part,) = (part for part in dataset.parts if part.origin.endswith("b"))
        file: PartFile = part.files[0]
        return file, dataset.sink.root / file.path

    def _problems(self, location: Path | str) -> list[str]:
        return harvest.open(location, plugins=plugins_of(LineSource, self.sink)).verify()

    def _require_noticed(self, location: Path | str, when: str) -> None:
        with contextlib.suppress(*REPORTED):
            require(
                self._problems(location),
                f"{when}, and verify says nothing",
                "give each file its size and checksum as written, and compare the checksum of "
                "what is carried over from the present files",
            )

    @promise("the state that an earlier run left can be put back", quick=True)
    def test_earlier_states_can_be_put_back(self, tmp_path: Path) -> None:
        inputs = self._harvested(tmp_path)
        location = self.location(tmp_path / "dataset")
        old, _ = read_back(self.sink, location)
        dataset = harvest.open(location, plugins=plugins_of(LineSource, self.sink))
        (first,) = (run["run"] for run in dataset.runs())
        (inputs / "a").write_text("a\nchanged\n")
        (inputs / "d").write_text("d\nnew\n")
        run_into(self.sink, location, self.settings, inputs)
        new, _ = read_back(self.sink, location)
        assert old != new
        try:
            dataset.rollback(first)
        except REPORTED as error:
            raise BrokenPromise(
                f"going back to the first run fails: {error}",
                "let publish() take staged files that are those of an earlier state, too: they "
                "are described as publish() once returned them, but for their offset",
            ) from error
        self._require_state(location, old, "after going back to the first run")
        run_into(self.sink, location, self.settings, inputs)
        self._require_state(location, new, "after the run that followed")

    def _harvested(self, directory: Path, text: str = "b") -> Path:
        """Harvest three files of text, ``text`` being the first line of ``b``; gives the inputs."""
        self.open(directory / "dataset")
        inputs = directory / "inputs"
        inputs.mkdir()
        for name, line in (("a", "a"), ("b", text), ("c", "c")):
            (inputs / name).write_text(f"{line}\none\ntwo\n")
        run_into(self.sink, self.location(directory / "dataset"), self.settings, inputs)
        return inputs

    def _require_state(self, location: Path | str, rows: list[object], after: str) -> None:
        found, problems = read_back(self.sink, location)
        require(
            found == rows and not problems,
            f"{after}, there are {len(found)} rows where {len(rows)} were, or others; verify says "
            f"{problems}",
            "change no committed file: the core keeps what a commit replaces, by its checksum",
        )


def _own_places(driver: SinkDriver) -> list[Path]:
    """What the paths of all files of a dataset begin with."""
    location = Path(os.path.abspath(driver.sink.location))  # noqa: PTH100 - keeps links
    one_file = driver.sink.root == location.parent
    return [location if one_file else driver.sink.root, driver.sink.state]


def _replace(path: Path, data: bytes | None) -> None:
    """Give a file another content, as if it were written anew; None removes it."""
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)
