"""Conditions of ``--where``: times as texts mean what they mean to DuckDB, mistakes a sentence."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harvest import UsageError
from harvest_look.choice import Choice
from harvest_look.where import condition_of, refused_values

duckdb = pytest.importorskip("duckdb")

NOW = datetime.now(UTC)
ROWS = pl.DataFrame(
    {
        "n": [1, 2, 3, 4, 5],
        "start": [
            datetime(2025, 1, 1, tzinfo=UTC),
            datetime(2025, 1, 31, 11, 30, tzinfo=UTC),
            datetime(2025, 6, 1, tzinfo=UTC),
            NOW - timedelta(days=1),
            None,
        ],
        "end": [datetime(2025, 1, 2, tzinfo=UTC)] * 4 + [None],
        "day": [date(2025, 1, 1)] * 5,
        "name": ["a", "2025-01-31", "it's", "c and d", None],
        "elapsed_s": [1.0, 3600.0, 3601.0, 100.0, None],
    },
    schema_overrides={"start": pl.Datetime("us", "UTC"), "end": pl.Datetime("us", "UTC")},
)

SAME_AS_DUCKDB = """
start < '2025-01-31'
start < '2025-01-31 11:30'
start <= '2025-01-31T11:30'
start < '2025-01-31 12:00 Europe/Berlin'
start < '2025-01-31T12:00+01'
start < '2025-01-31 12:31:00+01:00'
'2025-01-31' > start
"start" < ('2025-01-31')
start != '2025-01-01'
start in ('2025-01-01', '2025-06-01')
start not in ('2025-01-01')
start between '2025-01-01' and '2025-01-31' and n > 0
start not between '2025-01-01' and '2025-01-31 12:00'
n between 1 and 2 and start < '2025-06-01'
name = '2025-01-31' or start > '2025-05-01'
start > '2025-05-01' or name = '2025-01-31'
start > '2025-05-01' and name != 'it''s' and name like 'c and%'
not (start < '2025-01-31')
(start < '2025-01-31' and n = 1) or (n = 3 and start >= '2025-06-01')
start::date = '2025-01-01'
day < '2025-01-31 12:00'
start < date '2025-01-31'
start < timestamp '2025-01-31'
start < timestamptz '2025-01-31 10:00+02'
start < timestamp with time zone '2025-01-31'
start < cast('2025-01-31' as timestamp)
start < '2025-01-31'::timestamp with time zone
start > now() - interval '1 year'
start > now() - interval 1 year
start > current_date - interval '30 days'
start < today() and start > current_timestamp - interval '48 hours'
start < "end" + interval '1 month'
start > "end" + '1 day'::interval
start > timestamp '2025-01-31' - interval '1 month 3 days 2 hours'
start - "end" > interval '20 days'
start - "end" > '20 days'
(start - "end") > '29 days 10:00:00'
"end" - start between '1 hour' and '2 days'
coalesce(start, "end") < '2025-01-31'
case when start < '2025-01-31' then true else false end
extract(year from start) = 2025 and name || 'x' = 'ax'
name > '2025' and n >= 1
""".strip().splitlines()


def fitting(sql: str) -> list[int]:
    return sorted(ROWS.lazy().filter(condition_of(sql, ROWS.lazy())).collect()["n"])


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    """DuckDB with the rows."""
    with duckdb.connect() as made:
        made.execute("SET TimeZone = 'UTC'")
        made.register("rows", ROWS.to_arrow())
        yield made


@pytest.mark.parametrize("sql", SAME_AS_DUCKDB)
def test_a_condition_chooses_the_rows_that_a_query_chooses(connection: Any, sql: str) -> None:
    expected = connection.execute(f"SELECT n FROM rows WHERE {sql} ORDER BY n").fetchall()

    assert fitting(sql) == [n for (n,) in expected]


def test_an_interval_is_compared_with_seconds_in_columns_of_seconds() -> None:
    assert fitting("elapsed_s > interval '1 hour'") == [3]
    assert fitting("elapsed_s >= interval '01:00:00'") == [2, 3]


def test_blanks_and_texts_stay_as_they_are_written() -> None:
    assert fitting("name='c and d'and n=4") == [4]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("start < 'yesterday'", "'yesterday' is not a time; write '2025-01-31'"),
        ("start < '2025-02-30'", "'2025-02-30' is not a time"),
        ("start < '9999-12-31T23:00-05:00'", "'9999-12-31T23:00-05:00' is not a time"),
        ("start < '0001-01-01 Asia/Tokyo'", "'0001-01-01 Asia/Tokyo' is not a time"),
        ("start < '2025-01-31 12:00 Mars/Base'", "'2025-01-31 12:00 Mars/Base' is not a time"),
        ("start > 5", "'5' is not a time"),
        ("start - \"end\" > '3 moons'", "'3 moons' is not an interval"),
        ("elapsed_s > interval '1 month'", "is not a number of seconds: months differ"),
        ("n >", "a part of it is missing or misplaced"),
        ("n > 'x'", "a text is compared with a number"),
        ("start = name", "a time is compared with a text"),
        ("no_such(n) > 1", "there is no function no_such here"),
        ("n in ('a')", "what is listed behind IN is of another type than the column"),
        ("n like 'a%'", "it asks for a text, where there is i64"),
        ("name + 1 > 3", "it calculates with str and dyn int"),
        ("n > (select 5)", "it has a query within"),
        ("start", "this is not a condition; compare something"),
        ("nn > 3", "unknown column 'nn'"),
    ],
)
def test_a_mistake_is_told_in_one_sentence_with_the_condition(sql: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        condition_of(sql, ROWS.lazy())

    text = str(refused.value)
    assert text.startswith(f"{sql}: ")
    assert told in text
    assert "\n" not in text
    assert "plan" not in text


def test_values_that_cannot_be_converted_are_named_and_how_to_pass_them_over() -> None:
    choice = Choice(where="name::int > 3")

    with pytest.raises(UsageError) as refused, refused_values(choice.where):
        choice.of(ROWS.lazy()).collect()

    assert str(refused.value).startswith("name::int > 3: name has values that are no i32, such as")
    assert str(refused.value).endswith("TRY_CAST(name AS ...) gives null for these")
    assert fitting("try_cast(name as int) > 3") == []


def test_values_that_cannot_be_converted_are_named_where_only_statistics_were_read(
    tmp_path: Path,
) -> None:
    pl.DataFrame({"who": ["", ""]}).write_parquet(tmp_path / "a.parquet")
    rows = pl.scan_parquet(tmp_path / "a.parquet").rename({"who": "name"})
    choice = Choice(where="cast(name as int) > 3")

    with (
        pytest.raises(UsageError, match="values that are no i32, such as"),
        refused_values(choice.where),
    ):
        choice.of(rows).collect()


def test_other_failures_are_not_the_conditions() -> None:
    with pytest.raises(pl.exceptions.PolarsError), refused_values("n > 1"):
        ROWS.select(pl.col("name").cast(pl.Int32))
