"""What the policy engine says of its own run, in a list or in its captured output."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import pytest
from policy_lists import files, harvest, layout_of, line, listing, row

from harvest import ReadContext, run
from harvest import open as open_dataset
from harvest_gpfs.parse.counting import Before
from harvest_gpfs.parse.reading import Reading
from harvest_toolkit.streams import open_stream

ROWS = [
    b"%d 1 0  |size=%d|misc=F| -- /fs/%d" % (number, number * 10, number) for number in range(1, 5)
]
TOTAL = (
    b"[I] A total of %d files have been migrated, deleted or processed by an EXTERNAL EXEC/script;"
)
SKIPPED = b"%d 'skipped' files and/or errors."


def scan(path: Path, lines: Iterable[bytes]) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def read(path: Path) -> tuple[list[int], list[str], int]:
    """The positions of the rows, the notes on the engine, and how many rejects there are."""
    found = harvest(path)
    notes = [note for note in found.notes if "engine" in note]
    return [row["position"] for row in files(found)], notes, len(found.rejects)


@pytest.mark.parametrize(
    "message",
    [
        b"[E] Error on gpfs_iopen([/fs/a],0): Stale file handle",
        b"[E:22] Error on gpfs_iopen([/fs/a],0): Invalid argument",
        b"[W] Attention: a rule never applies",
        b"[X] Fatal",
    ],
)
def test_errors_and_warnings_are_notes(tmp_path: Path, message: bytes) -> None:
    # given a message between rows
    path = scan(tmp_path / "scan.list", [*ROWS[:2], message, *ROWS[2:]])

    # then it is a note, and the rows behind it have their own line's number
    positions, notes, rejects = read(path)
    assert positions == [1, 2, 4, 5]
    assert notes == [f"line 3: the policy engine said: {message.decode()}"]
    assert rejects == 0


def test_of_many_messages_the_first_are_noted_and_the_others_counted(tmp_path: Path) -> None:
    # given 7 warnings before 2 errors
    messages = [b"[W] w%d" % n for n in range(7)] + [b"[E] e%d" % n for n in range(2)]
    path = scan(tmp_path / "scan.list", [*messages, *ROWS])

    # then the errors are noted although 5 warnings were
    positions, notes, rejects = read(path)
    assert positions == [10, 11, 12, 13]
    said = [note.rpartition(" ")[2] for note in notes[:-1]]
    assert said == ["w0", "w1", "w2", "w3", "w4", "e0", "e1"]
    assert notes[-1] == "the policy engine said [W] 2 more times"
    assert rejects == 0


@pytest.mark.parametrize("lines_of_summary", [1, 2])
@pytest.mark.parametrize("due", [4, 7])
@pytest.mark.parametrize("skipped", [0, 3])
@pytest.mark.parametrize("first", [True, False])
def test_the_summary_is_compared_with_the_list(
    tmp_path: Path, lines_of_summary: int, due: int, skipped: int, first: bool
) -> None:
    # given a summary of one line or two, before the rows or behind them
    summary = [TOTAL % due, b"        " + SKIPPED % skipped]
    if lines_of_summary == 1:
        summary = [b" ".join([TOTAL % due, SKIPPED % skipped])]
    path = scan(tmp_path / "scan.list", [*summary, *ROWS] if first else [*ROWS, *summary])

    # then files that were skipped are noted, and another number of files than the list has
    positions, notes, rejects = read(path)
    begin = len(summary) if first else 0
    assert positions == [begin + n for n in range(1, 5)]
    assert [("'skipped' files" in note, "processed 7 files" in note) for note in notes] == [
        *([(True, False)] if skipped else []),
        *([(False, True)] if due == 7 else []),
    ]
    assert rejects == 0


def test_ranges_count_what_lies_before_them(tmp_path: Path) -> None:
    # given a list in ranges, with messages in its midst
    rows = [b"%d 1 0  |size=1|misc=F| -- /fs/%d" % (n, n) for n in range(3_000)]
    middle = [b"[E] once", TOTAL % 3_000, b"\t" + SKIPPED % 0]
    path = scan(tmp_path / "scan.list", [*rows[:900], *middle, *rows[900:]])
    whole, ranged = harvest(path), harvest(path, partition_bytes=16 * 1024)

    # then rows have the same positions, and nothing is said but the error
    assert len(ranged.partitions) > 3
    place = [(row["inode"], row["position"]) for row in files(ranged)]
    assert place == [(n, n + 1 if n < 900 else n + 4) for n in range(3_000)]
    assert [n for n in ranged.notes if "engine" in n] == [n for n in whole.notes if "engine" in n]
    assert len(ranged.notes) == 1


def test_errors_of_the_engine_are_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "scan-20260111.list"
    path.write_bytes(
        b"1 2 0  |size=1|uid=5| -- /fs/a\n[E:22] Error reading inode 7\n"
        b"2 2 0  |size=1|uid=5| -- /fs/b\n"
    )
    run(f"gpfs:{path}", f"parquet:{tmp_path / 'out'}", workers=1)

    found = open_dataset(tmp_path / "out").view("findings").collect()

    (text,) = found.filter(rule="gpfs.errors_reported")["text"]
    assert text.startswith("Policy engine errors in 1 list: files may be missing.")
    assert "[E:22] Error reading inode 7" in text


# --- a list that ends inside a line ---------------------------------------------------------------

GOOD = listing([row()], "record", "percent")
LONG = line(row(), "record", "percent") + b"x" * 3000


def rejects_of(path: Path, block_bytes: int) -> list[tuple[int, str]]:
    """Lines and reasons of the rejects of a list, after one row."""
    ctx = ReadContext(path.name, path.parent)
    reading = Reading(layout_of(GOOD), ctx, Before(), to_end=True)
    with open_stream(path) as stream:
        assert sum(table.num_rows for table in reading.tables(stream, block_bytes)) == 1
    return [(reject.position, reject.reason) for reject in ctx.rejects]


@pytest.mark.parametrize("block_bytes", [1000, 1 << 20])
@pytest.mark.parametrize("cut", [1, 3000])
def test_a_list_that_ends_inside_a_line_is_incomplete(tmp_path, block_bytes, cut):
    (tmp_path / "list").write_bytes(GOOD + LONG[:-cut])
    said = "the list ends inside this line: it is incomplete"
    assert rejects_of(tmp_path / "list", block_bytes) == [(2, said)]


@pytest.mark.parametrize("block_bytes", [1000, 1 << 20])
def test_a_stream_that_is_cut_inside_a_line_gives_one_reject(tmp_path, block_bytes):
    # given a packed list without the eight bytes that end its stream
    (tmp_path / "list.gz").write_bytes(gzip.compress(GOOD + LONG)[:-8])
    said = "the gzip stream is cut short: it is incomplete"
    assert rejects_of(tmp_path / "list.gz", block_bytes) == [(2, said)]


def test_a_long_line_with_its_end_is_a_reject_of_its_own(tmp_path):
    (tmp_path / "list").write_bytes(GOOD + LONG + b"\n")
    ((number, reason),) = rejects_of(tmp_path / "list", 1000)
    assert number == 2
    assert reason.startswith(f"a line of {len(LONG)} bytes, longer than any path makes it")
