"""The kit for sources has no false alarm for what a sample may be: links, names, a last line."""

import os

import pytest

from harvest_testing import SourceConformance
from harvest_testing.check import try_promises
from harvest_testing.source.kit import copy_of

WALKING = '''
import decimal
import os
from pathlib import Path
import harvest
from harvest import Record, Source, SourceError, field, file_partition
from harvest.toolkit.files import input_path

@harvest.record("kit.walked", layer="workflow", level="client")
class Line(Record):
    """One line."""
    text: str = field(role="subject", doc="The line.")

class WalkingSource(Source):
    """Lines of all files below; links to directories are followed, each directory is read once."""
    name, record_types = "kit-walked", (Line,)

    def plan(self):
        top = input_path(self.location)
        found = list(self.files(top, set())) if top.is_dir() else [top]
        if not found:
            raise SourceError("no file is here", where=str(top), remedy="check the location")
        for path in found:
            yield file_partition(path, id=os.path.relpath(path, top))

    def files(self, folder, entered):
        if folder.stat().st_ino in entered:
            return
        entered.add(folder.stat().st_ino)
        for name in sorted(os.listdir(folder)):
            path = folder / name
            if path.is_dir():
                yield from self.files(path, entered)
            elif path.is_file() or path.is_symlink():
                yield path

    def read(self, partition, ctx):
        with partition.path.open("rb") as lines:
            for number, raw in enumerate(lines, 1):
                ctx.read(1)
                ctx.advance(len(raw))
                try:
                    text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                    if not raw.endswith(b"\\n"):
                        raise ValueError("the line has no end")
                except ValueError as error:
                    ctx.reject(raw, str(error), position=number)
                    continue
                yield Line(text=text.rstrip("\\r\\n"), position=number)
'''


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A source in a module that other processes can import, too."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "kit_walked.py").write_text(WALKING)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        import kit_walked

        yield kit_walked.WalkingSource


class Linked(SourceConformance):
    """A tree in which links lead to directories in it and elsewhere, and to a file."""

    def sample(self, directory):
        top, beyond = directory / "top", directory / "beyond"
        for folder in (top / "deeper" / "deepest", beyond):
            folder.mkdir(parents=True)
            (folder / "a.txt").write_text("good\nmorning\n")
        (top / "b.txt").write_text("good\nnight\n")
        (top / "again").symlink_to("deeper")  # found before what it leads to
        (top / "beyond").symlink_to(beyond)
        (top / "c.txt").symlink_to("b.txt")
        return top


class Named(SourceConformance):
    """Files with names that ASCII does not have."""

    header_lines = 0

    def sample(self, directory):
        place = directory / "Zürich"
        place.mkdir()
        (place / "東京.txt").write_text("good\nmorning\n")
        (place / "e\u0301.txt").write_text("good\nnight\n")
        return place


class Unended(SourceConformance):
    """A file whose last line has no newline, by a source that rejects such a line."""

    header_lines = 0

    def sample(self, directory):
        path = directory / "a.txt"
        path.write_text("good\nmorning\ngood\nnight")
        return path


@pytest.mark.slow
@pytest.mark.parametrize("kit", [Linked, Named, Unended])
def test_a_sound_source_keeps_all_quick_promises(kit, source):
    made = type("Made", (kit,), {"source": source})()

    broken = [f for f in try_promises(made, "source kit-walked") if f.result == "broken"]

    assert not broken


def test_links_of_a_copy_lead_to_the_same_places_in_it(tmp_path):
    (tmp_path / "one" / "deeper").mkdir(parents=True)
    (tmp_path / "one" / "deeper" / "a.txt").write_text("a")
    (tmp_path / "one" / "link").symlink_to("deeper")

    copy = copy_of(tmp_path / "one", tmp_path / "other")

    assert os.path.realpath(copy / "link") == str(tmp_path / "other" / "deeper")
