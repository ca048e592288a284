"""The source ``yappi``: what real saves and broken ones give."""

import json
import marshal
import pickle
import subprocess
import sys

import pytest
from callgrind_save import CALLGRIND
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest import collect
from harvest_yappi.records import Thread
from harvest_yappi.source import YappiSource
from harvest_yappi.texts import parse_callgrind, parse_threads

PROGRAM = """
import asyncio, json, sys, threading, yappi

async def inner(n):
    await asyncio.sleep(0.001)
    return [i * i for i in range(n)]

async def outer():
    (lambda: 0)(), (lambda: 1)()  # two numbers, and one function for Yappi
    return await asyncio.gather(*(inner(100) for _ in range(3)))

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

yappi.set_clock_type("wall")
yappi.start()
thread = threading.Thread(target=fib, args=(8,))
thread.start()
thread.join()
asyncio.run(outer())
yappi.stop()
stats = yappi.get_func_stats()
folder = sys.argv[1]
for kind in ("callgrind", "pstat", "ystat"):
    stats.save(f"{folder}/run.{kind}", kind)
with open(f"{folder}/run.txt", "w") as file:
    stats.print_all(out=file)
    yappi.get_thread_stats().print_all(out=file)
print(json.dumps([(s.name, s.module, s.lineno, s.ncall, s.tsub, s.ttot) for s in stats]))
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Saves of a real run, and Yappi's own numbers of it."""
    pytest.importorskip("yappi", reason="yappi is not installed")
    folder = tmp_path_factory.mktemp("yappi")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), str(folder)], capture_output=True, text=True, check=True
    )
    return folder, json.loads(done.stdout)


def harvested(path, **config):
    found = collect(YappiSource(str(path), YappiSource.Config(**config)))
    assert found.units == found.accounted
    return found


def test_pstat_holds_yappis_own_numbers(real):
    folder, stats = real

    found = harvested(folder / "run.pstat")

    # the dict of a pstat keeps one function for each file, line and name
    theirs = {(module, line, name): tuple(rest) for name, module, line, *rest in stats}
    ours = {
        (r["module"], r["lineno"], r["name"]): (r["ncall"], r["tsub_s"], r["ttot_s"])
        for r in found.rows("yappi.function")
    }
    assert ours == theirs
    fib = next(r for r in found.rows("yappi.function") if r["name"] == "fib")
    assert (fib["ncall"], fib["primitive_calls"]) == (67, 1)


def test_callgrind_holds_them_to_the_microsecond(real):
    folder, stats = real

    found = harvested(folder / "run.callgrind")

    theirs = {(module, line, name): rest for name, module, line, *rest in stats}
    rows = found.rows("yappi.function")
    assert len(rows) == len(stats)
    for row in rows:
        _, tsub, ttot = theirs[row["module"], row["lineno"], row["name"]]
        assert row["tsub_s"] == pytest.approx(tsub, abs=2e-6)
        # the format holds no total; it follows from the calls where no circle of them is
        if row["name"] in ("fib", "inner", "outer", "sleep"):
            assert row["ttot_s"] == pytest.approx(ttot, abs=1e-5)


@pytest.mark.slow
def test_kinds_are_looked_up_in_the_sources_on_demand(real):
    folder, _ = real

    found = harvested(folder / "run.pstat", look_up_kinds=True)
    kinds = {r["name"]: r["kind"] for r in found.rows("yappi.function")}

    assert (kinds["inner"], kinds["outer"], kinds["fib"]) == ("coroutine", "coroutine", "function")
    assert {r["kind"] for r in harvested(folder / "run.pstat").rows("yappi.function")} == {None}


def test_threads_come_from_the_printed_table(real):
    folder, _ = real

    rows = harvested(folder / "run.txt").rows("yappi.thread")

    assert [r["name"] for r in rows].count("_MainThread") == 1
    assert {r["number"] for r in rows} == {0, 1}
    assert all(r["thread"] > 0 and r["scnt"] > 0 for r in rows)


def test_a_directory_of_saves(real):
    folder, _ = real

    found = harvested(folder)

    assert [p.id for p in found.partitions] == [
        "run.callgrind",
        "run.pstat",
        "run.txt",
        "run.ystat",
    ]
    assert [r.reason.split(":")[0] for r in found.rejects] == ["a pickle, Yappi's own format ystat"]


def test_pickles_are_refused(real, tmp_path):
    folder, _ = real
    with pytest.raises(harvest.SourceError, match=r"pickle.*ystat.*save the statistics as pstat"):
        list(YappiSource(str(folder / "run.ystat")).plan())


def test_callgrind_by_hand(tmp_path):
    (tmp_path / "a.callgrind").write_text(CALLGRIND)

    found = harvested(tmp_path / "a.callgrind")

    keys = ("name", "module", "lineno", "ncall", "tsub_s", "ttot_s", "pid", "position")
    assert [tuple(r[k] for k in keys) for r in found.rows("yappi.function")] == [
        ("main", "/my code/run me.py", 3, None, 1e-4, 1e-3, 77, 12),
        ("work hard", "/my code/run me.py", 9, 10, 6e-4, 9e-4, 77, 13),
        ("recv", "_socket", 0, 1, None, 2.5e-4, 77, 14),
    ]
    calls = [(c["caller"], c["name"], c["ncall"], c["ttot_s"]) for c in found.rows("yappi.call")]
    assert calls == [
        ("main", "work hard", 4, 9e-4),
        ("work hard", "work hard", 6, 5e-5),
        ("work hard", "recv", 1, 2.5e-4),
    ]
    assert found.units == found.accounted == 6


def test_the_time_of_a_function_without_any_cost_is_not_known(tmp_path):
    """Given a function that is only named: that it took no time is said nowhere."""
    header, functions = CALLGRIND.split("fn=(1)", 1)
    (tmp_path / "a.callgrind").write_text(f"{header}fn=(7) named /my code/run me.py:4\n" + "\n"
                                          f"fn=(1){functions}")  # fmt: skip

    found = harvested(tmp_path / "a.callgrind")

    rows = {r["name"]: r for r in found.rows("yappi.function")}
    assert (rows["named"]["tsub_s"], rows["named"]["ttot_s"]) == (None, None)
    assert "costs or calls of only 3 of its functions" in found.notes[0]


def test_a_called_function_that_the_save_does_not_define_has_its_number_for_a_name(tmp_path):
    """Given a save as older versions of Yappi leave it (sumerc/yappi, issue 95)."""
    before = len(CALLGRIND.splitlines())
    undefined = "\nfl=(1)\nfn=(1)\ncfl=(88)\ncfn=(88)\ncalls=3 0\n0 500000\n"
    (tmp_path / "a.callgrind").write_text(CALLGRIND + undefined)

    found = harvested(tmp_path / "a.callgrind")

    rows = {r["name"]: r for r in found.rows("yappi.function")}
    assert (rows["(88)"]["ncall"], rows["(88)"]["tsub_s"], rows["(88)"]["ttot_s"]) == (3, None, 0.5)
    assert rows["(88)"]["position"] > before
    # the time that main spent there is not lost: 1 ms, and half a second
    assert rows["main"]["ttot_s"] == 0.501
    assert (found.rejects, len(found.notes)) == ([], 1)
    assert "1 called function without a name in the save" in found.notes[0]


def test_lines_that_cannot_be_parsed_are_rejects(tmp_path):
    broken = CALLGRIND.replace("calls=6 0", "calls=six 0").replace("fn=(1)\n3", "fn=(9)\n3")
    (tmp_path / "a.callgrind").write_text(broken + "nonsense\n")

    found = harvested(tmp_path / "a.callgrind")

    reasons = {(r.position, r.reason) for r in found.rejects}
    assert (17, "function 9 is not defined") in reasons
    assert (29, "not a line of Yappi's callgrind format") in reasons
    assert (35, "not a line of Yappi's callgrind format") in reasons


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "the file is empty"),
        (marshal.dumps({("f", 1, "g"): (1, 1, 0.0, 0.0, {})})[:-9], "not a pstat file"),
        (pickle.dumps({("a", 1, "b"): 2}), "neither Yappi's callgrind nor pstat"),
        (CALLGRIND.replace(": yappi", ": callgrind-3.19").encode(), "neither Yappi's callgrind"),
        ({("f", 1, "g"): (1, 1, 0.0, 0.0)}, "not two counts"),
        ({("f", 1, "g"): (1, True, 0.0, 0.0, {})}, "not two counts"),
        ({("f", 1, "g"): (1, 2**70, 0.0, 0.0, {})}, "not two counts"),
        ({("f", 1, "g"): (1, 1, "x", 0.0, {})}, "not two counts"),
        ({("f", "1", "g"): (1, 1, 0.0, 0.0, {})}, "not a file, a line and a name"),
        ({("f", 1, "g"): (1, 1, 0.0, 0.0, {"x": (1, 1, 0.0, 0.0)})}, "not a caller of g"),
    ],
)
def test_a_pstat_of_another_shape(tmp_path, value, reason):
    path = tmp_path / "x.pstat"
    path.write_bytes(value if isinstance(value, bytes) else marshal.dumps(value))

    found = harvested(path)

    # of a function with a wrong caller the rest is kept
    assert len(found.tables) == ("caller" in reason)
    assert [reason in reject.reason for reject in found.rejects] == [True]


@pytest.mark.slow
def test_cprofile_writes_pstat_too(tmp_path):
    import cProfile

    profile = cProfile.Profile()
    profile.runcall(sorted, [3, 1, 2])
    profile.dump_stats(tmp_path / "x.prof")

    names = {r["name"] for r in harvested(tmp_path / "x.prof").rows("yappi.function")}

    assert "<built-in method builtins.sorted>" in names


@pytest.mark.slow
def test_marshal_that_takes_all_memory_or_all_time(tmp_path):
    # given a dict whose first key is a tuple and whose value claims two billion items
    path = tmp_path / "x.pstat"
    path.write_bytes(b"\x7b)\x03z\x01fi\x01\0\0\0z\x01g" + b"(\xff\xff\xff\x7f" + b"N" * 100)
    found = harvested(path, max_memory_bytes=300 << 20)
    assert len(found.rejects) == 1
    # nesting without end overflows a careless reader's stack
    path.write_bytes(b"\x7b)\x03" + b")\x01" * 100_000)
    assert len(harvested(path).rejects) == 1


@pytest.mark.slow
@given(st.binary(max_size=300))
def test_any_marshal_is_rows_or_rejects(tmp_path_factory, tail):
    from harvest_yappi.unmarshal import rows

    good = {("f", 1, "g"): (1, 1, 0.0, 0.0, {})}
    for value in ({tail: tail}, {("f", 1, tail.hex()): (tail,)}, good | {tail: good}):
        assert all(row[0] in ("function", "call", "bad") for row in rows(value))


@pytest.mark.slow
@given(st.lists(st.sampled_from(CALLGRIND.splitlines()), max_size=40))
def test_lines_in_any_order_are_parsed_or_rejected(lines):
    rejected = []
    profile = parse_callgrind(lines, lambda number, text, reason: rejected.append(number))
    costs = sum(1 for line in lines if line[:1].isdigit())
    used = len(profile.edges) + sum(f.own_us is not None for f in profile.functions.values())
    assert used + len(rejected) >= costs
    assert len(profile.edges) + len(rejected) >= sum(line.startswith("calls=") for line in lines)


@pytest.mark.slow
def test_thread_tables_with_odd_rows():
    text = (
        "\nname           id     tid              ttot      scnt\n"
        "Dask Worker 1  3      140719742790528  1.500000  4\n"
        "garbage\n"
        "\n"
        "not a row      1      2                0.1       3\n"
        "name           id     ttot      scnt\n"
        "green 5        1      0.250000  7\n"
    )
    wrong = []
    found = list(parse_threads(text.splitlines(), lambda *line: wrong.append(line)))
    assert found == [
        Thread(
            name="Dask Worker 1", number=3, thread=140719742790528, ttot_s=1.5, scnt=4, position=3
        ),
        Thread(name="green 5", number=1, thread=None, ttot_s=0.25, scnt=7, position=8),
    ]
    assert wrong == [(4, "garbage")]
