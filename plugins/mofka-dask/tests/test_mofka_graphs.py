"""Graphs: one row per task, whatever the size of the field."""

import csv

import pytest

from harvest import collect
from harvest_mofka_dask.source import MofkaDaskSource


def harvest(tmp_path, rows):
    path = tmp_path / "graph.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", "client", "keys", "dependencies", "time"])
        writer.writerows([i, "C", *row, 1713553298.5] for i, row in enumerate(rows))
    found = collect(MofkaDaskSource(str(path)))
    assert found.units == found.accounted
    return found


def brief(found):
    return [
        (t["position"], t["graph"], t["key"], t["dependencies"], t["requested"])
        for t in found.rows("dask.graph_task")
    ]


def test_each_task_is_a_row_numbered_through_the_file(tmp_path):
    first = ("{'sum'}", "{'sum': {('x', 2), ('x', 10)}, ('x', 2): set(), ('x', 10): set()}")
    second = ("{'a', 'gone', 'also'}", "{'a': set()}")
    assert brief(harvest(tmp_path, [first, second])) == [
        (1, 1, "sum", ["('x', 10)", "('x', 2)"], True),
        (2, 1, "('x', 2)", [], False),
        (3, 1, "('x', 10)", [], False),
        (4, 2, "a", [], True),
        (5, 2, "also", [], True),
        (6, 2, "gone", [], True),
    ]


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ("set()", []),
        ("[]", []),
        ("['b', 'a']", ["a", "b"]),
        ("frozenset({'a'})", ["a"]),
        ("{\"it's\", 'a'}", ["a", "it's"]),
        ("{('t', (1, 2.5)), b'x'}", ["('t', (1, 2.5))", "b'x'"]),
        ("{('t', ('u', ('v', 1)))}", ["('t', ('u', ('v', 1)))"]),
        ("{\"('a',1)\", ('a', 1)}", ["('a', 1)"]),
    ],
)
def test_odd_spellings_of_what_a_task_needs(tmp_path, needs, expected):
    found = harvest(tmp_path, [("{'k'}", f"{{'k': {needs}, 'l': set()}}")])
    assert brief(found) == [(1, 1, "k", expected, True), (2, 1, "l", [], False)]


def test_graphs_of_ordinary_and_odd_keys_keep_the_order_of_the_file(tmp_path):
    plain, odd = ("{'a'}", "{'a': set()}"), ('{"it\'s"}', '{"it\'s": set()}')
    strange = ("['a']", "{'a': []}")
    keys = [key for _, _, key, _, _ in brief(harvest(tmp_path, [odd, plain, strange, odd, plain]))]
    assert keys == ["it's", "a", "a", "it's", "a"]


@pytest.mark.parametrize(
    "dependencies",
    [
        "",
        "{",
        "{'a'}",
        "{'a': {'b'}",
        "{'a': print(1)}",
        "{'a': {'b'}}junk",
        "{'a': {'b'}, 'c'}",
        "{'a': set()}'b': set(), }",
        "{open('x'): set()}",
        "(" * 10_000,
    ],
)
def test_a_damaged_graph_is_one_reject_and_the_next_is_read(tmp_path, dependencies):
    found = harvest(tmp_path, [("{'a'}", dependencies), ("{'b'}", "{'b': set()}")])
    assert brief(found) == [(1, 2, "b", [], True)]
    (reject,) = found.rejects
    assert reject.position == 1
    assert "dependencies" in reject.reason


def test_damaged_keys_of_a_graph_are_named(tmp_path):
    found = harvest(tmp_path, [("{'a", "{'a': set()}")])
    assert "column 'keys'" in found.rejects[0].reason


def test_an_empty_graph_has_no_tasks(tmp_path):
    assert brief(harvest(tmp_path, [("set()", "{}")])) == []


@pytest.mark.slow
def test_a_field_of_a_megabyte_is_read(tmp_path):
    graph = {
        ("array-1234567890", i): {("array-1234567890", i // 2)} - {("array-1234567890", 0)}
        for i in range(1, 25_000)
    }
    text = str(graph)
    assert len(text) > 1_000_000
    found = harvest(tmp_path, [("{('array-1234567890', 7)}", text)])
    tasks = found.rows("dask.graph_task")
    assert [(t["key"], t["dependencies"]) for t in tasks] == [
        (str(key), sorted(str(need) for need in needs)) for key, needs in graph.items()
    ]
    assert [t["position"] for t in tasks if t["requested"]] == [7]
