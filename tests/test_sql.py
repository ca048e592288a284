"""SQL over a dataset: several queries at once, what is refused, and what an error says."""

import json
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from commands import harvest_here

import harvest
from harvest import UsageError
from harvest.model.json import encode_frame
from harvest_report.table_files import csv_columns

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    """Two jobs."""
    folder = tmp_path_factory.mktemp("sql")
    (folder / "sacct.txt").write_text("JobID|State|User\n1|COMPLETED|ada\n2|FAILED|tim\n")
    harvest.run([f"slurm:{folder / 'sacct.txt'}"], f"parquet:{folder / 'out'}", workers=1)
    return folder / "out"


def test_several_queries_are_run_in_order(dataset):
    users, tables, count = harvest.open(dataset).sql_all(
        "select user from slurm.job order by user; show tables; select count(*) as n from slurm.job"
    )
    assert users["user"].to_list() == ["ada", "tim"]
    assert "slurm.job" in tables["name"].to_list()
    assert count["n"].to_list() == [2]


def test_each_result_is_printed_under_its_number(dataset):
    done = harvest_here("query", dataset, "select 7 as a; select 8 as b")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split("\n\n")[:2]
    assert [first.split(), second.split()] == [
        ["result", "1:", "1", "row", "a", "7"],
        ["result", "2:", "1", "row", "b", "8"],
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "create table a as select 1",
        "insert into slurm.job values (1)",
        "copy (select 1) to 'made.csv'",
        "attach 'made.db'",
        "load httpfs",
        "set enable_external_access = true",
        "call pragma_version()",
    ],
)
def test_nothing_is_run_where_one_statement_would_do_other_than_read(dataset, statement, tmp_path):
    with pytest.raises(UsageError, match=r"statement 2 is of the type [A-Z]+, .* read-only"):
        harvest.open(dataset).sql_all(f"select 1; {statement}")
    with pytest.raises(UsageError, match=r"statement 1 is of the type"):
        harvest.open(dataset).sql(statement)


@pytest.mark.parametrize("table", ["'{}'", "read_csv('{}')"])
def test_no_query_reads_a_file_though_another_stands_before_it(dataset, table, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    secret = table.format(tmp_path / "secret.csv")

    with pytest.raises(UsageError, match="query 2 failed"):
        harvest.open(dataset).sql_all(f"select 1; select * from {secret}")


def test_a_wrong_word_is_marked_in_its_line(dataset):
    with pytest.raises(UsageError) as refused:
        harvest.open(dataset).sql("select user\nfrm slurm.job")
    text = str(refused.value)
    assert 'syntax error at or near "slurm"' in text
    assert "LINE 2: frm slurm.job" in text
    assert text.splitlines()[-1].strip().strip("^") == ""


@pytest.mark.parametrize("name", ["slurm.jobz", "slrm.job", "jobs", '"slurm.jobz"'])
def test_an_unknown_table_brings_the_names_that_are_like_it(dataset, name):
    with pytest.raises(UsageError, match=r"no table .*did you mean .*slurm\.job.*show tables"):
        harvest.open(dataset).sql(f"select * from {name}")


def test_a_pivot_is_one_query(dataset):
    (found,) = harvest.open(dataset).sql_all(
        "pivot slurm.job on state using count(*) group by user"
    )
    assert sorted(found["user"]) == ["ada", "tim"]


def test_the_difference_of_two_times_is_a_duration(tmp_path):
    # given jobs that end 26 hours, a second and a half apart, by plain arithmetic
    (tmp_path / "sacct.txt").write_text(
        "JobID|State|End\n1|COMPLETED|2024-01-02T03:00:00\n2|COMPLETED|2024-01-03T05:00:01\n"
    )
    harvest.run([f"slurm:{tmp_path / 'sacct.txt'}"], f"parquet:{tmp_path / 'out'}", workers=1)
    text = (
        'select max(end_time) - min(end_time) as span, -interval 90 seconds as "a ""b", '
        "min(end_time) - null as none, count(*) as jobs from slurm.job"
    )
    (row,) = harvest.open(tmp_path / "out").sql(text).to_dicts()
    assert row == {
        "span": timedelta(hours=26, seconds=1), 'a "b': timedelta(seconds=-90), "none": None,
        "jobs": 2,
    }  # fmt: skip
    assert "1.1 d" in harvest_here("query", tmp_path / "out", text).stdout


def test_nested_values_and_decimals_of_a_query_are_written_as_text(dataset):
    # given what DuckDB itself makes: no list, for which polars has functions
    text = """select histogram(state) as states, [map{1: [2]}] as list, {'a': map{'b': null}} as s,
        [1, 2]::integer[2] as pair, [{'key': 3, 'value': 4}] as entries, 0.50 as half,
        [2.5] as halves, ['2024-01-02'::date] as ds, {'t': t} as ts, any_value(t) as t
        from slurm.job, (select '1:2:3'::time as t) group by ts"""
    frame = harvest.open(dataset).sql(text)

    (line,) = encode_frame(frame)
    (cells,) = csv_columns(frame).to_dicts()

    assert json.loads(line) == {
        "states": {"completed": 1, "failed": 1}, "list": [{"1": [2]}], "s": {"a": {"b": None}},
        "pair": [1, 2], "entries": {"3": 4}, "half": 0.5, "halves": [2.5], "ds": ["2024-01-02"],
        "ts": {"t": "01:02:03.000000"}, "t": "01:02:03.000000",
    }  # fmt: skip
    assert cells["states"] == '{"completed":1,"failed":1}'
    for form in ("--wide", "--json"):
        assert '[{"1":[2]}]' in harvest_here("query", dataset, text, form).stdout


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("[interval 1 day]", r"the type INTERVAL\[\].*only DuckDB"),
        ("1::union(a integer, b text)", "the type UNION.*only DuckDB"),
        ("340282366920938463463374607431768211455::uhugeint", "the type UHUGEINT.*only DuckDB"),
        ("'12:00+02'::timetz", "the type TIME WITH TIME ZONE.*only DuckDB"),
        ("'10000-01-01'::timestamptz", "times outside the years 1 to 9999"),
        ("'-infinity'::date", "times outside the years 1 to 9999"),
        ("['infinity'::timestamp_ms]", "times outside the years 1 to 9999"),
        ("map {'a': 'infinity'::date}", "times outside the years 1 to 9999"),
    ],
)
def test_a_value_that_only_duckdb_has_is_refused_by_its_column(dataset, value, reason):
    with pytest.raises(UsageError, match=f"last has {reason}"):
        harvest.open(dataset).sql(f"select {value} as last union all select null")


def test_a_name_or_text_that_looks_like_such_a_type_is_none(dataset):
    text = """select {'INTERVAL': 'BIT'::enum('BIT')} as x"""
    assert harvest.open(dataset).sql(text)["x"].to_list() == [{"INTERVAL": "BIT"}]


def test_the_first_and_the_last_time_of_the_calendar_are_shown(dataset):
    text = """select '0001-01-01'::date as a, '9999-12-31'::date as b, null::date as c,
        '0001-01-01'::timestamp as d, '9999-12-31 23:59:59.999999'::timestamp as e"""
    (row,) = harvest.open(dataset).sql(text).to_dicts()

    assert (row["a"], row["b"], row["c"]) == (date.min, date.max, None)
    assert (row["d"], row["e"]) == (datetime.min, datetime.max)
