"""The commands that look before a run, over a source that nobody but these tests knows."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from commands import harvest_here

from harvest.plugins.registered import loaded

PLUGIN = '''
import harvest
from harvest import Column, Detection, Record, Source, View, field, record

@record("notes.line", layer="workflow", level="client")
class Line(Record):
    """A line of a note."""
    text: str = field(role="subject", doc="What it says.")
    size: int = field(unit="bytes", doc="How long it is.")

class Notes(Source):
    """Notes, line by line."""
    name, record_types = "notes", (Line,)

    @classmethod
    def detect(cls, path):
        return Detection(0.9, "it begins with NOTE") if path.read_bytes()[:4] == b"NOTE" else None

    def read(self, partition, ctx):
        for position, line in enumerate(partition.path.read_text().splitlines()):
            if line == "?":
                ctx.reject(line, "no words", position=position)
            else:
                yield Line(text=line, size=len(line))

def longest(dataset):
    """All lines."""
    return dataset["notes.line"].select("text", "size")

harvest_sources = harvest.declare(harvest.SourceSpec(name="notes", doc="Notes.", factory=Notes))

@harvest.hookimpl
def harvest_views():
    columns = (Column("text"), Column("size", format="bytes"))
    return [View(name="notes.longest", doc="Lines.", requires=("notes.line",), columns=columns,
                 build=longest)]
'''
NOTE = "NOTE\nbuy milk\n?\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with the plugin, two notes, a file that nobody knows and a pipe."""
    folder = tmp_path_factory.mktemp("look")
    (folder / "notes.py").write_text(PLUGIN)
    (folder / "in").mkdir()
    for name in ("a.note", "b.note"):
        (folder / "in" / name).write_text(NOTE)
    (folder / "in" / "thesis.tex").write_text("words")
    os.mkfifo(folder / "pipe")
    yield folder
    loaded.clear()  # it knows the notes


def call(place: Path, *words: str) -> CompletedProcess[str]:
    return harvest_here("--plugin", "notes.py", *words, cwd=place, COLUMNS="80")


def test_look_names_the_source_the_command_for_all_and_what_nobody_knows(place: Path) -> None:
    shown = call(place, "look", "in")
    assert shown.returncode == 0, shown.stderr
    assert "  harvest run \\\n      -s notes.py:notes:in/a.note \\\n" in shown.stdout
    assert "-s notes.py:notes:in/b.note" in shown.stdout
    assert "1 unrecognized file:" in shown.stdout
    assert "  harvest view notes.longest out\n" in shown.stdout


def test_look_as_json_has_the_same_facts(place: Path) -> None:
    found = json.loads(call(place, "look", "in", "--json").stdout)
    (source,) = found["sources"]
    assert (source["source"], source["files"], source["size_bytes"]) == ("notes", 2, 2 * len(NOTE))
    (other,) = found["unknown"]
    assert (other["ending"], other["files"], other["size_bytes"]) == (".tex", 1, len("words"))
    assert found["views"][0] == "notes.longest"


def test_detect_says_how_sure_a_source_is_and_why_and_ends_with_1_where_none_is(
    place: Path,
) -> None:
    shown = call(place, "detect", "in/a.note", "in/thesis.tex", "--json")
    assert shown.returncode == 1
    assert json.loads(shown.stdout) == [
        {
            "path": "in/a.note",
            "source": "notes",
            "confidence": 0.9,
            "reason": "it begins with NOTE",
        },
        {
            "path": "in/thesis.tex",
            "source": None,
            "confidence": None,
            "reason": "no source recognises it",
        },
    ]


def test_an_address_is_not_detected_and_not_repeated(place: Path) -> None:
    shown = call(place, "detect", "postgresql://user:secret@host/db")
    assert shown.returncode == 2
    assert "this is an address, not a path" in shown.stderr
    assert "secret" not in shown.stderr


def test_preview_shows_as_many_rows_as_asked_and_says_that_there_may_be_more(place: Path) -> None:
    shown = call(place, "preview", "-s", "notes:in/a.note", "-n", "1")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("notes.line: 1 of at least 2 rows\n")
    assert "buy milk" not in shown.stdout


def test_preview_remarks_what_was_rejected(place: Path) -> None:
    shown = call(place, "preview", "-s", "in/a.note")
    assert shown.stdout.startswith("notes.line: 2 rows\n")
    assert "a.note, record 2: no words" in shown.stderr


def test_a_pipe_is_detected_and_previewed_and_named_as_what_it_is(place: Path) -> None:
    for words in (("detect", "PIPE", "--json"), ("preview", "-s", "notes:PIPE", "--json")):
        reader, writer = os.pipe()
        os.write(writer, NOTE.encode())
        os.close(writer)
        name = f"/dev/fd/{reader}"
        shown = call(place, *(word.replace("PIPE", name) for word in words))
        os.close(reader)
        assert shown.returncode == 0, shown.stderr
        assert "notes" in shown.stdout
        assert name in shown.stdout
        assert "/tmp/" not in shown.stdout


def test_look_refuses_a_pipe(place: Path) -> None:
    shown = call(place, "look", "pipe")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "harvest detect says what comes through it" in shown.stderr


def test_schema_shows_the_columns_of_a_record_type_in_every_form(place: Path) -> None:
    table = call(place, "schema", "notes.line").stdout
    assert table.startswith("notes.line, version 1, layer workflow, level client\n")
    assert any(line.split()[:4] == ["size", "int64,", "required", "bytes"] for line in
               table.splitlines())  # fmt: skip
    described = json.loads(call(place, "schema", "notes.line", "--json").stdout)
    assert described["properties"]["size"] == {
        "type": "integer", "description": "How long it is.", "x-unit": "bytes",
    }  # fmt: skip
    assert "size: int64 not null" in call(place, "schema", "notes.line", "--format", "arrow").stdout
    page = call(place, "schema", "notes.line", "--format", "markdown").stdout
    assert "| `size` | int64, required | bytes |  | How long it is. |" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("schema", "notes.lin"), "unknown record type or view 'notes.lin'"),
        (("schema", "notes.line", "--format", "xml"), "unknown format 'xml'"),
        (("preview", "-s", "nots:in"), "nots"),
        (("look", "nowhere"), "no such file or directory"),
    ],
)
def test_what_is_not_there_is_an_error_of_one_line(
    place: Path, words: tuple[str, ...], said: str
) -> None:
    shown = call(place, *words)
    assert shown.returncode in (1, 2)
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


def test_more_rows_than_polars_can_count_are_a_wrong_option(place: Path) -> None:
    shown = call(place, "preview", "-s", "in/a.note", "-n", str(2**32))
    assert shown.returncode == 2
    assert "'-n' / '--rows' / '--limit'" in shown.stderr
