"""Readers of columns against plain Python, for any values."""

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pbs_logs import ABOUT, ended, line, read, started

from harvest_pbs.jobs import allotted, hosts, requested, slots
from harvest_pbs.scalar import KNOWN, SCHEMA, pairs_of, raw_row
from harvest_toolkit.pairs import pairs
from harvest_toolkit.spans import spans

UNITS = {"": 1, "b": 1, "w": 8}
KEYS = st.sampled_from([*KNOWN, "session", "Resource_List.site", "höhe", "x"])
NUMBERS = st.integers(-(10**19), 10**19).map(str)
SIZES = st.builds("{}{}{}".format, st.integers(0, 10**19), st.sampled_from(["", *"kmgtpKMGTPx"]),
                  st.sampled_from([*UNITS, "B", "W", "bb"]))  # fmt: skip
TIMES = st.builds("{}:{:02d}:{:02d}".format, st.integers(0, 10**9), st.integers(0, 61),
                  st.integers(0, 61))  # fmt: skip
WORDS = st.text(
    st.characters(exclude_characters=" \n\r\"'\0", exclude_categories=["Cs"]), max_size=6
)
VALUES = st.one_of(NUMBERS, SIZES, TIMES, WORDS)
QUOTED = st.lists(WORDS, min_size=2, max_size=3).map(lambda words: '"' + " ".join(words) + '"')
RECORDS = st.lists(
    st.dictionaries(KEYS, st.one_of(VALUES, QUOTED), min_size=1, max_size=8), min_size=1, max_size=4
)


@given(RECORDS)
def test_both_readers_of_pairs_give_the_same(records: list[dict[str, str]]) -> None:
    texts = [" ".join(f"{key}={value}" for key, value in record.items()) for record in records]

    table, faults = pairs(spans(pa.array(texts)), KNOWN)

    plain = []
    for text in texts:
        found, went_on = pairs_of(text)
        assert not went_on
        plain.append(raw_row(found))
    expected = pa.Table.from_pylist(plain, SCHEMA).to_pylist()
    for place, row in enumerate(table.select(SCHEMA.names).to_pylist()):
        if place in faults:  # then the plain reader has it, with a value in extra
            assert any(key in KNOWN for key, _ in plain[place]["extra"])
        else:
            assert row == expected[place]


NAMES = st.from_regex(r"[a-z]{1,3}[0-9]?", fullmatch=True)
SLOTS = st.one_of(
    st.just((1, "")),
    st.integers(0, 99).map(lambda n: (1, f"/{n}")),
    st.tuples(st.integers(0, 9), st.integers(1, 64)).map(lambda p: (p[1], f"/{p[0]}*{p[1]}")),
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
        lambda p: (p[1] + 2, f"/{p[0]}-{p[0] + p[1]},99")
    ),
)


@given(st.lists(st.lists(st.tuples(NAMES, SLOTS), min_size=1, max_size=5), min_size=1, max_size=4))
def test_lists_of_hosts_have_these_hosts_and_slots(rows: list[Any]) -> None:
    texts = pl.Series(["+".join(name + text for name, (_, text) in row) for row in rows] + [None])

    assert slots(texts).to_list() == [sum(count for _, (count, _) in row) for row in rows] + [None]
    assert texts.to_frame("a").select(hosts(pl.col("a"))).to_series().to_list() == [
        list(dict.fromkeys(name for name, _ in row)) for row in rows
    ] + [None]


CHUNKS = st.lists(
    st.dictionaries(st.sampled_from(["ncpus", "ngpus", "mem", "mpiprocs"]), st.integers(0, 999)),
    min_size=1, max_size=4,
)  # fmt: skip


@given(CHUNKS, st.lists(st.integers(1, 9), min_size=4, max_size=4))
def test_sums_over_chunks_are_those_of_their_amounts(chunks: list[Any], times: list[int]) -> None:
    settings = ["".join(f":{k}={v}{'kb' * (k == 'mem')}" for k, v in c.items()) for c in chunks]
    vnodes = "+".join(f"(n{place}{text})" for place, text in enumerate(settings))
    select = "+".join(f"{n}{text}" for n, text in zip(times, settings, strict=False))

    def total(name: str, counts: list[int], unit: int = 1) -> int | None:
        found = [n * c[name] for n, c in zip(counts, chunks, strict=False) if name in c]
        return sum(found) * unit if found else None

    frame = pl.DataFrame({"vnodes": [vnodes]})
    one = [1] * len(chunks)
    for name, unit in {"ncpus": 1, "ngpus": 1, "mem": 1024}.items():
        assert frame.select(allotted(pl.col("vnodes"), name)).item() == total(name, one, unit)
    asked = requested(pl.Series([select])).row(0, named=True)
    assert asked == {
        "nodes": sum(times[: len(chunks)]), "cpus": total("ncpus", times),
        "gpus": total("ngpus", times), "mem": total("mem", times, 1024),
        "procs": total("mpiprocs", times),
    }  # fmt: skip


def test_a_sum_with_an_amount_that_cannot_be_read_is_unknown() -> None:
    # given 2 chunks with 4 CPUs and one with an expression, and memory in an unknown unit
    asked = requested(pl.Series(["2:ncpus=4:mem=1gb+1:ncpus=many:mem=1parsec"]))

    # then nothing is summed without that part, and the chunks are counted
    assert asked.row(0, named=True) == {
        "nodes": 3, "cpus": None, "gpus": None, "mem": None, "procs": None
    }  # fmt: skip


def told(events: list[tuple[str, int]]) -> list[tuple[str, str]]:
    """What jobs a plain reader finds in a log: id and state, in any order."""
    states = {"Q": "pending", "S": "running", "E": "completed", "R": "requeued"}
    rows: list[tuple[int, str]] = []
    open_ended: dict[int, str] = {}
    deleted: set[int] = set()
    for kind, number in events:
        if kind == "D":
            deleted.add(number)
            continue
        open_ended.pop(number, None)
        if kind in "ER":
            gone = number in deleted and kind == "E"
            rows.append((number, "cancelled" if gone else states[kind]))
        else:
            open_ended[number] = states[kind]
    for number, state in open_ended.items():
        rows.append((number, "cancelled" if state == "pending" and number in deleted else state))
    return sorted((f"{number}.pbs01", state) for number, state in rows)


@given(st.lists(st.tuples(st.sampled_from("QSERD"), st.integers(1, 3)), max_size=12))
def test_any_order_of_records_gives_each_run_once(events: list[Any]) -> None:
    kept = [*dict.fromkeys(events)]
    make: dict[str, Any] = {
        "Q": lambda job: line("Q", job, ABOUT),
        "S": started,
        "E": ended,
        "R": lambda job: ended(job, -11, kind="R"),
        "D": lambda job: line("D", job, "requestor=a@b"),
    }
    with tempfile.TemporaryDirectory() as folder:
        records = [make[kind](f"{number}.pbs01") for kind, number in kept]
        found = read(Path(folder, "log"), *records)

    rows = [(row["job_id"], row["state"]) for row in found.rows("pbs.job")]
    assert sorted(rows) == told(kept)
    assert len(found.rows("pbs.event")) == len(kept)
    assert found.units == found.accounted == len(kept) + sum(kind != "D" for kind, _ in kept)
