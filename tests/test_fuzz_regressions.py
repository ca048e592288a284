"""Fuzzing in small: what was found stays found, and every target is tried anew for a moment.

By day a target is fuzzed for a moment, at night for minutes.
"""

import importlib.util
import marshal
import subprocess
import sys
from pathlib import Path

import pytest
from night import NIGHT

from harvest import Collected, collect
from harvest_mofka_dask.source import MofkaDaskSource
from harvest_yappi.source import YappiSource

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fuzz.engine import replay  # noqa: E402
from fuzz.targets import NAMES, load  # noqa: E402

SECONDS = 300 if NIGHT else 0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_holds_the_promise(name: str) -> None:
    assert replay(load(name)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_changes_hold_the_promise(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is not None:
        bound = ["--seconds", str(SECONDS)] if SECONDS else ["--runs", "20"]
        done = fuzz("run", name, tmp_path / "corpus", *bound)
        assert "number_of_executed_units" in done.stderr
    else:  # it has no wheels for some systems: random changes, which nothing guides
        runs = str(max(60, 50 * SECONDS))
        done = fuzz("shuffle", name, "--runs", runs, "--seed", "20240506")
        assert f"{name}: {runs} inputs" in done.stderr


def fuzz(*arguments: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300 + 2 * SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done


# what fuzzing found, in the smallest form


def read(source: type, tmp_path: Path, name: str, data: bytes | str) -> Collected:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    found = collect(source(str(path)))
    assert found.units == found.accounted
    return found


def test_blank_lines_alone_are_no_header(tmp_path: Path) -> None:
    # once an IndexError that failed the run
    found = read(MofkaDaskSource, tmp_path, "worker.csv", "\n\r\n\n")
    assert found.filtered == {"blank line": 3}
    assert found.notes == ["worker.csv is empty"]


def test_blank_lines_may_stand_before_the_header(tmp_path: Path) -> None:
    found = read(MofkaDaskSource, tmp_path, "worker.csv", "\n\n,worker,time\n0,h,1713553301.5\n")
    assert [row["worker"] for row in found.rows("dask.worker")] == ["h"]


@pytest.mark.parametrize(
    "text", ["a: !!int ''", "a: !!float ''", "a: !!bool x", "a: !!timestamp x", "a: !!null {a: b}"]
)
def test_a_value_that_belies_its_tag_is_a_reject(tmp_path: Path, text: str) -> None:
    # once an IndexError, KeyError or AttributeError of PyYAML that failed the run
    (reject,) = read(MofkaDaskSource, tmp_path, "dask.yaml", text).rejects
    assert "is not a configuration" in reject.reason


def test_repeated_keys_of_yaml_are_both_kept(tmp_path: Path) -> None:
    # once all but the last were lost without a word
    found = read(MofkaDaskSource, tmp_path, "dask.yaml", "a: 1\na: 2\nb: {c: 3, c: 4}\n")
    told = [(row["key"], row["value"]) for row in found.rows("run.config")]
    assert told == [("a", "1"), ("a", "2"), ("b.c", "3"), ("b.c", "4")]


def test_merged_keys_of_yaml_stand_below_a_mappings_own(tmp_path: Path) -> None:
    text = "base: &base {x: 1, y: 2}\nmine: {<<: *base, y: 3}\n"
    found = read(MofkaDaskSource, tmp_path, "dask.yaml", text)
    told = {row["key"]: row["value"] for row in found.rows("run.config")}
    assert told == {"base.x": "1", "base.y": "2", "mine.x": "1", "mine.y": "3"}


def test_merge_keys_cannot_multiply_without_end(tmp_path: Path) -> None:
    # given mappings of which each merges ten of the one before
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: v" for n in range(300)) + "}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 100)}]}}" for n in range(1, 9)]
    (reject,) = read(MofkaDaskSource, tmp_path, "dask.yaml", "\n".join(lines)).rejects
    assert "merge keys bring more than" in reject.reason


def test_lone_surrogates_in_settings_are_shown_as_escapes(tmp_path: Path) -> None:
    # once a UnicodeEncodeError that failed the run
    found = read(MofkaDaskSource, tmp_path, "config.json", '{"k\\ud800": "v\\udfff"}')
    assert [(r["key"], r["value"]) for r in found.rows("run.config")] == [("k\\ud800", "v\\udfff")]


def test_a_number_of_thousands_of_digits_is_a_setting_like_others(tmp_path: Path) -> None:
    found = read(MofkaDaskSource, tmp_path, "dask.yaml", "a: 0x" + "f" * 5000)
    assert found.rows("run.config")[0]["value"] == "0x" + "f" * 5000


CALLGRIND = """version: 1
creator: yappi
pid: {pid}
events: Ticks

fl=(1) a.py
fn=(1) f a.py:1

fl=(1)
fn=(1)
1 5
"""


@pytest.mark.parametrize("pid", ["²", "9" * 40, "-1", ""])
def test_an_odd_process_id_costs_its_line(tmp_path: Path, pid: str) -> None:
    # once a ValueError or an overflow that failed the run
    found = read(YappiSource, tmp_path, "a.callgrind", CALLGRIND.format(pid=pid))
    assert [row["name"] for row in found.rows("yappi.function")] == ["f"]
    assert [(r.position, r.raw.decode()) for r in found.rejects] == [(3, f"pid: {pid}")]


def test_more_calls_than_64_bits_count_are_a_reject(tmp_path: Path) -> None:
    text = CALLGRIND.format(pid=1) + "cfl=(1)\ncfn=(1)\ncalls=999999999999999999 0\n0 1\n" * 10
    found = read(YappiSource, tmp_path, "a.callgrind", text)
    assert not found.rows("yappi.function")
    assert len(found.rows("yappi.call")) == 10
    (reject,) = found.rejects
    assert "9999999999999999990 calls in all" in reject.reason


def test_a_value_that_python_cannot_print_costs_its_function(tmp_path: Path) -> None:
    # once the whole save: printing it for the reject failed
    stats = {
        ("a.py", 1, "f"): (1, 1, 0.5, 0.5, {}),
        ("a.py", 10**5000, "g"): (1, 1, 0.5, 0.5, {}),
    }
    found = read(YappiSource, tmp_path, "a.pstat", marshal.dumps(stats))
    assert [row["name"] for row in found.rows("yappi.function")] == ["f"]
    assert "cannot be shown" in found.rejects[0].raw.decode()


@pytest.mark.parametrize("letter", ["a", "é", "数", "\xff"])
def test_a_line_that_is_too_long_costs_that_line(tmp_path: Path, letter: str) -> None:
    # given definitions and rows that go on for longer than any that Yappi writes
    long = letter * 70_000
    text = CALLGRIND.format(pid=1) + f"\nfn=(2) {long} a.py:2\n1 2\n"
    found = read(YappiSource, tmp_path, "a.callgrind", text)
    assert [row["name"] for row in found.rows("yappi.function")] == ["f"]
    assert "more than 65536 bytes" in found.rejects[0].reason

    table = f"name  id  ttot  scnt\na 1 0.5 2{' ' * 70_000}{long}\nb 2 0.5 2\n"
    found = read(YappiSource, tmp_path, "a.txt", table)
    assert [row["name"] for row in found.rows("yappi.thread")] == ["b"]
    assert [reject.position for reject in found.rejects] == [2]
