"""Sinks that write a directory of parts: what is where before, during and after a commit."""

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import DatasetError, PartFile, Publication, Record, UsageError, record, record_type
from harvest.api.directory_sink import DirectorySink
from harvest.api.sink import PartWriter
from harvest_testing.sinks.driver import SinkDriver, part_stem


@record("demo.line", layer="job", level="job")
class Line(Record):
    text: str


@record("demo.word", layer="job", level="job")
class Word(Record):
    text: str


LINE, WORD = record_type(Line), record_type(Word)


class TextWriter(PartWriter):
    """Takes text in place of tables."""

    def __init__(self, sink: DirectorySink, staging: Path, part: str):
        self.sink, self.staging, self.part = sink, staging, part
        self.found: list[tuple[str, str, int]] = []

    def write(self, record_type: Any, table: Any) -> None:
        path = self.sink.place(record_type.name, self.part)
        (self.staging / path).parent.mkdir(exist_ok=True)
        (self.staging / path).write_text(table)
        self.found.append((path, record_type.name, 1))

    def close(self) -> Sequence[tuple[str, str, int]]:
        return self.found

    def abort(self) -> None:
        pass


class TextSink(DirectorySink):
    name = "text"
    suffix = ".txt"

    def writer(self, staging: Path, part: str) -> PartWriter:
        return TextWriter(self, staging, part)

    def scan(self, files: Any, record_type: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def driver(tmp_path: Path) -> SinkDriver:
    return SinkDriver(TextSink(str(tmp_path / "out")))


def seen(sink: Any, kind: Any = LINE) -> list[str]:
    """What a reader's glob over a record type sees."""
    return sorted(path.read_text() for path in sink.root.glob(f"{kind.name}/*.txt"))


def test_the_same_part_with_another_content_keeps_both_until_the_commit(
    driver: SinkDriver,
) -> None:
    driver.commit({"a": [(LINE, "old")]})
    held = driver.files["a"][0]
    publication = driver.stage({"a": [(LINE, "new")]})
    # read again by force: same input, same settings, so the same name
    staged = publication.parts["a"][0]
    source = publication.staged["a"] / staged.path
    source.rename(publication.staged["a"] / held.path)
    same_name = attrs.evolve(staged, path=held.path)
    publication = attrs.evolve(publication, parts={"a": (same_name,)})

    driver.publish(publication)
    assert seen(driver.sink) == ["new", "old"]
    assert driver.files["a"][0].path != held.path
    driver.finish(publication)
    assert seen(driver.sink) == ["new"]
    driver.recover()
    assert seen(driver.sink) == ["new"]


def test_the_same_part_with_the_same_content_is_left_as_it_is(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, "same")]})
    held = driver.files["a"][0]
    staging = driver.sink.state / "again"
    (staging / "demo.line").mkdir(parents=True)
    (staging / held.path).write_text("same")
    publication = Publication(
        parts={"a": (held,)}, staged={"a": staging}, old=driver.files, token="again"
    )
    driver.publish(publication)
    driver.finish(publication)
    assert driver.files["a"] == (held,)
    assert seen(driver.sink) == ["same"]


def test_files_of_others_are_never_removed(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, "one")]})
    notes = driver.sink.root / "demo.line" / "notes.txt"
    notes.write_text("mine")
    other = driver.sink.root / "pictures" / "x.txt"
    other.parent.mkdir()
    other.write_text("mine too")
    driver.files = {}
    driver.recover()
    assert notes.exists()
    assert other.exists()


def test_a_missing_staged_file_is_an_error_that_names_it(driver: SinkDriver) -> None:
    publication = driver.stage({"a": [(LINE, "one")]})
    path = publication.staged["a"] / publication.parts["a"][0].path
    path.unlink()
    with pytest.raises(DatasetError, match="missing") as error:
        driver.publish(publication)
    assert error.value.where == str(path)


@pytest.mark.parametrize(
    "path", ["../x.txt", "/etc/x.txt", "demo.line/../../x.txt", "x.txt", "_harvest/x.txt", ""]
)
def test_paths_that_lead_elsewhere_are_refused(driver: SinkDriver, path: str) -> None:
    file = PartFile(path=path, record_type="demo.line", rows=1, size_bytes=1, sha256="")
    bad = Publication(parts={}, staged={}, old={"a": (file,)}, token="t")
    with pytest.raises(DatasetError, match="not the path of a part"):
        driver.sink.finish(bad)
    bad = Publication(parts={"a": (file,)}, staged={"a": Path("/x")}, old={}, token="t")
    with pytest.raises(DatasetError, match="not the path of a part"):
        driver.sink.publish(bad)


def test_a_location_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="this is a file"):
        TextSink(str(tmp_path / "out")).check()


def test_a_directory_with_rows_of_others_is_refused(tmp_path: Path) -> None:
    sink = TextSink(str(tmp_path))
    (tmp_path / "README").write_text("fine")
    sink.check()
    (tmp_path / "demo.line").mkdir()
    sink.check()
    (tmp_path / "demo.line" / f"{part_stem('a', 'x')}.txt").write_text("whose?")
    with pytest.raises(UsageError, match="not of a harvest dataset"):
        sink.check()


def test_a_dataset_into_which_somebody_put_a_file_is_refused(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, "one")]})
    driver.sink.check()
    (driver.sink.root / "demo.line" / "mine.txt").write_text("")
    with pytest.raises(UsageError, match="not of a harvest dataset"):
        driver.sink.check()


# --- any history, cut short anywhere --------------------------------------------------------------

CONTENTS = st.none() | st.lists(
    st.tuples(st.sampled_from([LINE, WORD]), st.sampled_from(["x", "y", "z"])),
    max_size=2,
    unique_by=lambda pair: pair[0].name,
)
CUTS = st.sampled_from(["staged", "half published", "published", "committed", "done"])
STEPS = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abc"), CONTENTS, min_size=1), CUTS), max_size=6
)


@pytest.mark.slow
@given(STEPS)
def test_whatever_was_cut_short_the_files_are_those_of_the_manifest(steps: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        driver = SinkDriver(TextSink(folder))
        expected: dict[str, list[tuple[str, str]]] = {}
        for change, cut in steps:
            known = {k: v for k, v in change.items() if v is not None or k in expected}
            publication = driver.stage(known)
            after = {**expected, **{k: v for k, v in known.items() if v is not None}}
            after = {k: v for k, v in after.items() if known.get(k, v) is not None}
            if cut == "half published":
                some = dict(list(publication.parts.items())[:1])
                driver.sink.publish(attrs.evolve(publication, parts=some))
            elif cut == "published":
                driver.sink.publish(publication)
            elif cut in ("committed", "done"):
                driver.publish(publication)
                expected = after
            if cut == "done":
                driver.finish(publication)
            _nothing_missing(driver)
            driver.recover(publication.token if cut == "committed" else "")
            _nothing_missing(driver)
            for kind in (LINE, WORD):
                texts = [t for rows in expected.values() for k, t in rows if k is kind]
                assert seen(driver.sink, kind) == sorted(texts)


def _nothing_missing(driver: SinkDriver) -> None:
    for files in driver.files.values():
        for file in files:
            data = (driver.sink.root / file.path).read_bytes()
            assert hashlib.sha256(data).hexdigest() == file.sha256
