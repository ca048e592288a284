"""CSV records and their columns, compared with Python's csv module."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvest_toolkit.csv_header import column_names, header_line
from harvest_toolkit.delimited import CUT, MISPLACED, blocks, columns, count_fields, tables
from harvest_toolkit.lines import InvalidLine

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12)
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=4), max_size=12)


def written(rows: list[list[str]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()


def damages(data: bytes, **more) -> list[InvalidLine]:
    return [damage for block in blocks(io.BytesIO(data), **more) for damage in block.damages]


@pytest.mark.slow
@settings(deadline=None)
@given(ROWS, st.integers(1, 40))
def test_records_are_cut_as_the_csv_module_reads_them(rows, block_bytes):
    """Given rows of any texts, when cut in blocks of any size, then no record changes."""
    found = []
    for block in blocks(io.BytesIO(written([["a", "b"], *rows])), block_bytes=block_bytes):
        assert not block.damages
        assert block.data == b"".join(block.raw(i) + b"\n" for i in range(len(block)))
        for i in range(len(block)):
            found += csv.reader(io.StringIO(block.raw(i).decode(), newline=""))
    assert found == [["a", "b"], *rows]


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 30))
def test_any_bytes_are_cut_into_records_and_damages_without_loss(data, size):
    numbers, kept = [], 0
    for block in blocks(io.BytesIO(data), block_bytes=size):
        numbers += [*block.numbers.tolist(), *(d.number for d in block.damages)]
        kept += len(block.data) + sum(len(d.raw) for d in block.damages)
    assert sorted(numbers) == list(range(len(numbers)))
    # all that may be missing is line ends and the byte order mark
    assert kept >= len(data.removeprefix(b"\xef\xbb\xbf")) - data.count(b"\n") - data.count(b"\r")


@pytest.mark.slow
@settings(deadline=None)
@given(ROWS, st.integers(1, 60))
def test_columns_are_the_cells_and_other_rows_are_damages(rows, block_bytes):
    """Given rows of two to four cells below three names, then those of three are the table."""
    found, other = [], []
    for block in blocks(io.BytesIO(written(rows)), block_bytes=block_bytes):
        table, block = columns(block, ["a", "", "c"])
        assert table.column_names == ["a", "c"]
        found += zip(block.numbers.tolist(), *table.to_pydict().values(), strict=True)
        other += [(damage.number, damage.reason) for damage in block.damages]
    expected = [(n, r[0] or None, r[2] or None) for n, r in enumerate(rows) if len(r) == 3]
    assert found == expected
    assert other == [
        (n, f"{len(r)} fields where the header has 3") for n, r in enumerate(rows) if len(r) != 3
    ]


@pytest.mark.slow
@settings(deadline=None)
@given(ROWS, st.lists(st.integers(0, 12), max_size=4), st.integers(1, 60))
def test_lines_are_counted_where_asked_for(rows, blanks, block_bytes):
    """Given cells with newlines and blank lines, then a record's number is its first line's."""
    data, expected = b"", []
    for place, row in enumerate(rows):
        data += b"\n" * blanks.count(place)
        expected.append(data.count(b"\n") + 1)
        data += written([row])
    found = []
    for block in blocks(io.BytesIO(data), block_bytes=block_bytes, count_lines=True):
        found += block.numbers.tolist()
    assert found == expected


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_damaged_lines_have_the_number_of_their_line_and_the_next_ones_too(size):
    data = b'h,x\n1,a"b\n2,"open\n3,c\n\xff,d\n5,e,f\n6,g\n'
    numbers, found = [], []
    for block in blocks(io.BytesIO(data), block_bytes=size, count_lines=True):
        _, block = columns(block, ["h", "x"])
        numbers += block.numbers.tolist()
        found += [(d.number, d.raw, d.reason) for d in block.damages]
    assert numbers == [1, 4, 7]
    assert found == [
        (2, b'1,a"b', MISPLACED),
        (3, b'2,"open', MISPLACED),
        (5, b"\xff,d", "not UTF-8: byte 0xff at byte 1"),
        (6, b"5,e,f", "3 fields where the header has 2"),
    ]


def test_a_last_record_without_a_newline_is_damaged_unless_that_is_allowed():
    assert damages(b"a,b\n1,2") == [InvalidLine(1, b"1,2", CUT)]
    (block,) = blocks(io.BytesIO(b"1,2"), require_final_newline=False)
    assert block.raw(0) == b"1,2"
    assert damages(b'1,"2', require_final_newline=False) == [InvalidLine(0, b'1,"2', MISPLACED)]


@pytest.mark.parametrize("size", [8, 64])
def test_a_line_that_never_ends_is_one_damage_and_the_next_one_is_read(size):
    """Once each piece of it that was held was a damage, and its end could pass for a record."""
    data = b"a,b\n" + b"x" * 1000 + b",y\n1,2\n"
    found = list(blocks(io.BytesIO(data), block_bytes=size, record_limit=100))
    (damage,) = [damage for block in found for damage in block.damages]
    assert (damage.number, damage.reason) == (1, "a line of 1002 bytes, more than 100")
    records = [(n, block.raw(i)) for block in found for i, n in enumerate(block.numbers.tolist())]
    assert records == [(0, b"a,b"), (2, b"1,2")]
    assert sum(block.read_bytes for block in found) == len(data)


def test_the_first_record_is_split_off_whether_damaged_or_not():
    (block, *_) = blocks(io.BytesIO(b'a,"b\n1,2\n'))
    raw, rest = block.split_first()
    assert raw == b'a,"b'
    assert not rest.damages
    (block, *_) = blocks(io.BytesIO(b'a,b\n1,x"2\n3,4\n'))
    raw, rest = block.split_first()
    assert raw == b"a,b"
    assert [d.number for d in rest.damages] == [1]
    assert rest.numbers.tolist() == [2]


@settings(deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=6))
def test_fields_are_counted_as_the_csv_module_does(row):
    line = written([row]).removesuffix(b"\n")
    assert count_fields(line) == len(row)


def test_the_header_of_a_file_names_its_columns(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes('\ufeff id ,"a,b"\r\n1,2\r\n'.encode())
    assert column_names(header_line(path)) == ["id", "a,b"]
    assert column_names(b"\xff,b") == []
    assert column_names(b'"a,b') == []


def test_tables_are_what_lies_below_the_header(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"id,name\n1,a\n\n2,\n3")
    ((table, block),) = [each for each in tables(path, ["id", "name"]) if len(each[1])]
    assert table.to_pydict() == {"id": ["1", "2"], "name": ["a", None]}
    assert (block.numbers.tolist(), block.blank) == ([1, 2], 1)
