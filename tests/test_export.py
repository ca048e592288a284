"""Views and query results as files."""

import csv
import json
from datetime import UTC, date, datetime, time, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from harvest.errors import UsageError
from harvest_look.tools import export

FRAME = pl.DataFrame(
    {
        "key": ["a", '=cmd("x")', "line\nbreak\x1b[31m", None],
        "share": [0.5, float("nan"), float("inf"), None],
        "when": [datetime(2024, 4, 19, 12, 0, 0, 250, tzinfo=UTC), None, None, None],
        "day": [date(2024, 4, 19), None, None, None],
        "clock": [time(1, 2, 3, 4), None, None, None],
        "took": [timedelta(seconds=1.5), None, None, None],
        "words": [["x", "y"], [], None, ["z"]],
        "pairs": [[{"key": "k", "value": "v"}], [], None, None],
        "parts": [[{"name": "n", "at": datetime(2024, 1, 1, tzinfo=UTC)}], [], None, None],
        "raw": [b"\xff", b"", None, b"abc"],
        "count": [2**63, 1, None, 0],
    },
    schema_overrides={"count": pl.UInt64},
)


def test_json_lines_hold_every_value(tmp_path):
    assert export(FRAME.lazy(), tmp_path / "t.jsonl") == 4

    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]

    assert rows[0] == {
        "key": "a", "share": 0.5, "when": "2024-04-19T12:00:00.000250Z", "day": "2024-04-19",
        "clock": "01:02:03.000004", "took": 1.5, "words": ["x", "y"], "pairs": {"k": "v"},
        "parts": [{"name": "n", "at": "2024-01-01T00:00:00.000000Z"}], "raw": "/w==",
        "count": 2**63,
    }  # fmt: skip
    assert [row["key"] for row in rows] == FRAME["key"].to_list()
    assert [row["share"] for row in rows] == [0.5, "NaN", "Infinity", None]
    assert rows[3]["words"] == ["z"]
    assert rows[2]["pairs"] is None


def test_parquet_holds_the_same_frame(tmp_path):
    export(FRAME.lazy(), tmp_path / "t.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "t.parquet"), FRAME)


def test_csv_defuses_formulas_and_keeps_nested_values_as_json(tmp_path):
    export(FRAME.lazy(), tmp_path / "t.csv")

    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert rows[1]["key"] == """'=cmd("x")"""
    assert rows[0]["when"] == "2024-04-19T12:00:00.000250Z"
    assert json.loads(rows[0]["words"]) == ["x", "y"]
    assert json.loads(rows[0]["pairs"]) == {"k": "v"}
    assert rows[2]["words"] == ""
    assert rows[0]["raw"] == "/w=="


def test_text_is_a_block_of_names_and_values_for_each_row(tmp_path):
    export(FRAME.lazy(), tmp_path / "t.txt")

    first, second, third, _ = (tmp_path / "t.txt").read_text().strip().split("\n\n")

    assert first.splitlines()[:3] == [
        "key    a",
        "share  0.5",
        "when   2024-04-19T12:00:00.000250Z",
    ]
    assert second.splitlines()[0] == 'key    =cmd("x")'
    assert third.splitlines()[0] == "key    line\\nbreak\\x1b[31m"


def test_text_may_have_a_renderer_of_its_own(tmp_path):
    export(FRAME.lazy(), tmp_path / "t.txt", text=lambda frame: frame["key"].fill_null("-"))
    assert (tmp_path / "t.txt").read_text().startswith("a\n=cmd")


def test_a_failing_export_leaves_the_old_file(tmp_path):
    (tmp_path / "t.txt").write_text("old")

    def failing(frame):
        yield "new"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        export(FRAME.lazy(), tmp_path / "t.txt", text=failing)
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]
    assert (tmp_path / "t.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "message"), [("t.xls", "unknown file ending"), ("no/where/t.csv", "no such directory")]
)
def test_where_it_cannot_go_is_said(tmp_path, name, message):
    with pytest.raises(UsageError, match=message):
        export(FRAME.lazy(), tmp_path / name)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_durations_are_the_nearest_number_of_seconds(tmp_path, suffix):
    # polars divides by multiplying, which made 0.040999999999999995 of 41 ms
    micros = [*range(1, 2_000, 7), 41_000, 222_766_892, 86_400_000_001]
    frame = pl.LazyFrame({"took": pl.Series(micros).cast(pl.Duration("us"))})

    export(frame, tmp_path / f"out{suffix}")

    lines = (tmp_path / f"out{suffix}").read_text().splitlines()
    found = [json.loads(line)["took"] for line in lines] if suffix == ".jsonl" else [
        float(line) for line in lines[1:]
    ]  # fmt: skip
    assert found == [number / 1_000_000 for number in micros]
