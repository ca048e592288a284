"""Known orders of columns, tried against the first lines of a file without a header."""

import pytest

from harvest_toolkit.delimited import tables
from harvest_toolkit.headless import LINES, Order, fitting, misfit

CLOCK = r"\d+:\d\d|"
JOBS = Order({"id": r"\d+", "name": "", "elapsed": CLOCK}, ("elapsed",))
STEPS = Order({"id": r"\d+", "step": r"\d+", "name": "", "elapsed": CLOCK}, ("elapsed",))
OTHER = Order({"number": r"\d+", "word": "", "duration": CLOCK}, ("duration",))


def written(tmp_path, text):
    path = tmp_path / "dump.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("1,a,0:10\n2,b,\n", ["id", "name", "elapsed"], 2),
        ("1,1,a,0:10\r\n", ["id", "step", "name", "elapsed"], 1),
        ('\ufeff 1 ,"a, b\nc",0:10\n\n2,,0:20', ["id", "name", "elapsed"], 2),  # marks, quotes
        ("1,a,0:10\n" * 9 + "1,a\n", ["id", "name", "elapsed"], 9),
    ],
)
def test_the_order_that_lines_fit_is_found(tmp_path, text, columns, lines):
    fit = fitting(written(tmp_path, text), [JOBS, STEPS])
    assert (fit.names, fit.lines) == (columns, lines)
    assert f"({lines} of {fit.looked_at})" in fit.note


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ""),
        ("number,word,duration\n" + "1,a,0:10\n" * 20, ""),  # a header, with other names
        (
            "1,a\n2,b\n",
            "0 of 2 looked at fit the order id, name, elapsed (line 1: it has 2 fields)",
        ),
        ("1,a,0:10\n\n1,a,ten\n", "1 of 2 looked at fit the order id, name, elapsed (line 3: "),
        (
            "1,a,\n2,b,\n",
            "nothing in its lines shows that they are id, name, elapsed: write the names of",
        ),
        ('1,"a,0:10\n2,b,0:10\n', "(line 2: it has 2 fields)"),
    ],
)
def test_where_none_fits_the_reason_says_what_was_found(tmp_path, text, why):
    path = written(tmp_path, text)
    assert fitting(path, [JOBS, STEPS]) is None
    said = misfit(path, [JOBS, STEPS])
    assert why in said if why else said == ""


def test_two_orders_that_fit_are_not_chosen_from(tmp_path):
    path = written(tmp_path, "1,a,0:10\n")
    assert fitting(path, [JOBS, OTHER]) is None
    said = misfit(path, [JOBS, OTHER])
    assert "its lines fit id, name, elapsed as well as number, word, duration: write" in said


def test_a_large_file_is_known_by_its_beginning(tmp_path):
    # given a line that fits nothing behind those looked at, and one that reading cuts off
    many = fitting(written(tmp_path, "1,a,0:10\n" * LINES + "x\n"), [JOBS])
    assert (many.lines, many.looked_at) == (LINES, LINES)
    long = f"1,{'a' * 30_000},0:10\n"
    assert fitting(written(tmp_path, long * 3), [JOBS]).looked_at == 2


def test_of_a_first_line_that_is_too_long_what_was_read_of_it_must_fit(tmp_path):
    GRAPH = Order({"": r"\d+", "client": r"Client-\d+", "graph": r"\{.*\}"}, name="graph")
    whole = written(tmp_path, f"0,Client-7,{{{'a' * 70_000}}}\n1,Client-7,{{}}\n")
    assert fitting(whole, [JOBS, GRAPH]).order.name == "graph"
    other = written(tmp_path, f"0,client,{{{'a' * 70_000}}}\n")
    assert fitting(other, [JOBS, GRAPH]) is None
    assert "(index), client, graph (line 1: client is 'client')" in misfit(other, [GRAPH])


def test_without_a_header_the_first_record_is_a_row(tmp_path):
    path = written(tmp_path, "1,a,0:10\n2,b,0:20\n")
    rows = [
        row for table, _ in tables(path, ["x", "", "z"], header=False) for row in table.to_pylist()
    ]
    assert rows == [{"x": "1", "z": "0:10"}, {"x": "2", "z": "0:20"}]
