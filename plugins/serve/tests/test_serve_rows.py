"""Rows by filters, order and page are those that polars gives for the same question."""

import math
import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import harvest_served
import polars as pl
import pytest
from night import NIGHT, SEED
from serving import things

from harvest import UsageError
from harvest.model.json import encode_frame
from harvest.toolkit.frames import TEXT_MAP
from harvest_report.table_files import CSV_TIME, csv_columns
from harvest_serve import tables
from harvest_serve.downloads import FORMS, frame_of, stream
from harvest_serve.problems import Refused
from harvest_serve.questions import OPERATORS, Filter, Question, kind_of, question
from harvest_serve.state import Snapshot

COLUMNS = {
    "name": "text",
    "word": "text",
    "size": "integer",
    "small": "integer",
    "large": "integer",
    "real": "number",
    "flag": "boolean",
    "moment": "time",
}


@pytest.fixture(scope="module")
def everything(snapshot: Snapshot) -> pl.DataFrame:
    return snapshot.dataset["served.thing"].collect()


def drawn_value(draw: random.Random, column: str) -> Any:
    """A value that a column may well have."""
    kind = COLUMNS[column]
    if kind == "text":
        return draw.choice((*harvest_served.WORDS, "a1", "b", "script"))
    if kind == "integer":
        return draw.choice((0, 1, -1, 2**61, 2**64 - 1 if column == "large" else 7))
    if kind == "number":
        return draw.choice((0.0, 1.5, -1.0, math.inf, math.nan))
    if kind == "boolean":
        return draw.random() < 0.5
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=draw.randrange(12))


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)


BY_POLARS = {
    "eq": lambda c, v: c == v,
    "ne": lambda c, v: c != v,
    "lt": lambda c, v: c < v,
    "le": lambda c, v: c <= v,
    "gt": lambda c, v: c > v,
    "ge": lambda c, v: c >= v,
    "contains": lambda c, v: c.str.contains(v, literal=True),
    "starts": lambda c, v: c.str.starts_with(v),
    "ends": lambda c, v: c.str.ends_with(v),
    "null": lambda c, v: c.is_null(),
    "notnull": lambda c, v: c.is_not_null(),
}
IN_POLARS = {
    "small > 0 and word is not null": (pl.col("small") > 0) & pl.col("word").is_not_null(),
    "length(name) < 4": pl.col("name").str.len_chars() < 4,
    "flag or small=1": pl.col("flag") | (pl.col("small") == 1),
}


@pytest.mark.parametrize("number", range(200 if NIGHT else 5))
def test_the_rows_of_a_question_are_those_that_polars_gives(snapshot, everything, number):
    draw = random.Random(f"{SEED} {number}")
    where, frame = [], everything
    for column in draw.sample(list(COLUMNS), draw.randrange(3)):
        operator = draw.choice(OPERATORS[kind_of(COLUMNS[column])])
        value = drawn_value(draw, column)
        where.append(Filter(column, operator, as_text(value)))
        frame = frame.filter(BY_POLARS[operator](pl.col(column), pl.lit(value)))
    condition = draw.choice((None, None, None, *IN_POLARS))
    if condition is not None:
        frame = frame.filter(IN_POLARS[condition])
    sort = [(c, draw.random() < 0.5) for c in draw.sample(list(COLUMNS), draw.randrange(3))]
    if sort:
        names, down = [c for c, _ in sort], [d for _, d in sort]
        frame = frame.sort(names, descending=down, nulls_last=True, maintain_order=True)
    offset, limit = draw.choice((0, 0, 7, 250)), draw.choice((0, 5, 50, 1000))

    asked = Question(
        where=tuple(where), sort=tuple(sort), offset=offset, limit=limit, condition=condition
    )
    found, total = tables.rows(snapshot, "served.thing", asked)

    print(where, sort, condition, offset, limit)  # of the seed that fails
    assert total == frame.height
    wanted = frame.slice(offset, limit)
    assert frame_of(found).select(wanted.columns).equals(wanted, null_equal=True)


def test_a_table_describes_its_columns_with_type_unit_and_meaning(snapshot):
    described = tables.describe(snapshot, "served.thing")

    types = {column.name: column.type for column in described.columns}
    assert {name: types[name] for name in COLUMNS} == COLUMNS
    assert [types[n] for n in ("data", "tags", "notes", "place")] == [
        *("bytes", "list", "map", "structure")
    ]
    size = next(column for column in described.columns if column.name == "size")
    assert (size.unit, size.doc) == ("bytes", "How large it is.")


def test_a_view_takes_its_settings_and_its_durations_are_seconds(snapshot, everything):
    counted = {word: n for word, n in everything["word"].value_counts().iter_rows() if n >= 30}

    found, total = tables.rows(snapshot, "served.by_word", Question(settings={"least": "30"}))

    rows = found.to_pylist()
    assert total == len(rows) == len(counted)
    assert {row["word"]: row["things"] for row in rows} == counted
    assert all(row["took"] == float(row["things"]) for row in rows)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"where": (Filter("nope", "eq", "1"),)}, "no column is named 'nope'"),
        ({"where": (Filter("size", "contains", "1"),)}, "not an operator for size"),
        ({"where": (Filter("size", "eq", "many"),)}, "'many' is not of the type integer"),
        (
            {"where": (Filter("moment", "gt", "0001-01-01T00:00+10:00"),)},
            "'0001-01-01T00:00+10:00' is not of the type time",
        ),
        ({"where": (Filter("moment", "eq", "noon"),)}, "'noon' is not of the type time"),
        ({"limit": 10**6}, "are too many for one answer"),
        ({"condition": "1=1 union select 2"}, "this is not a condition"),
        ({"condition": "1=1 order by 1"}, "this is not a condition"),
        ({"condition": "1=1) or (1=1"}, "syntax error"),
        ({"condition": 'name in (select name from "served.thing")'}, "asks one table alone"),
        ({"condition": "name >"}, "syntax error"),
        ({"settings": {"least": "1"}}, "has no settings"),
    ],
)
def test_what_does_not_fit_is_refused_with_words(snapshot, asked, said):
    with pytest.raises(UsageError) as error:
        tables.rows(snapshot, "served.thing", Question(**asked))

    assert said in str(error.value)


def test_columns_that_are_named_twice_come_once(snapshot):
    found, _ = tables.rows(snapshot, "served.thing", question([("columns", "size,name,size")]))

    assert found.column_names == ["size", "name"]


@pytest.mark.parametrize(("operator", "all_"), [("lt", True), ("gt", False)])
@pytest.mark.parametrize("value", ["1" + 40 * "0", "1" + 400 * "0"])
def test_an_integer_of_many_digits_is_larger_than_all(snapshot, operator, all_, value):
    asked = Question(where=(Filter("small", operator, value),))

    _, total = tables.rows(snapshot, "served.thing", asked)

    known = snapshot.dataset["served.thing"].select(pl.col("small").count()).collect().item()
    assert total == (known if all_ else 0)


def test_facets_count_the_values_of_columns_with_few(snapshot, everything):
    chosen = everything.filter(pl.col("small") > 0)

    asked = Question(where=(Filter("small", "gt", "0"),))
    found = {f["column"]: f for f in tables.facets(snapshot, "served.thing", asked)}

    assert set(found) == {"word", "small", "flag", "origin"}  # of two files
    for name, facet in found.items():
        counts = {each["value"]: each["rows"] for each in facet["values"]}
        assert counts == dict(chosen[name].value_counts().iter_rows())
        assert facet["others"] == 0
    (few,) = tables.facets(snapshot, "served.thing", Question(columns=("name",)), most=3)
    counts = [each["rows"] for each in few["values"]]
    assert counts == sorted(everything["name"].value_counts()["count"], reverse=True)[:3]
    assert few["others"] == everything.height - sum(counts)


def test_a_column_with_too_many_values_is_not_counted(snapshot, everything, monkeypatch):
    monkeypatch.setattr(tables, "MOST_COUNTED", 40)
    names = everything["name"].n_unique()
    assert names > 2 * 40  # the count that decides is within some percent

    with pytest.raises(Refused) as error:
        tables.facets(snapshot, "served.thing", Question(columns=("name",)))

    said = re.fullmatch(r"'name' has about (\d+) values .*, too many to count", error.value.message)
    assert abs(int(said[1]) - names) < 0.2 * names
    (few,) = tables.facets(snapshot, "served.thing", Question(columns=("word",)))
    assert len(few["values"]) == everything["word"].n_unique()


@pytest.mark.parametrize("form", FORMS)
def test_a_download_holds_every_row_that_fits(snapshot, everything, form, tmp_path):
    path = tmp_path / f"rows{FORMS[form].suffix}"
    asked = Question(sort=(("size", True),))
    path.write_bytes(b"".join(stream(snapshot, "served.thing", FORMS[form], asked)))

    wanted = everything.sort("size", descending=True, nulls_last=True, maintain_order=True)
    if form in ("parquet", "arrow"):
        found = pl.read_parquet(path) if form == "parquet" else pl.read_ipc_stream(path)
        assert found["name"].to_list() == wanted["name"].to_list()
        assert found["large"].to_list() == wanted["large"].to_list()
        assert found["moment"].to_list() == wanted["moment"].to_list()
    else:
        # as `harvest view -o` and `harvest query -o` write them
        other = tmp_path / f"other{FORMS[form].suffix}"
        if form == "csv":
            csv_columns(wanted).write_csv(other, datetime_format=CSV_TIME)
        else:
            other.write_text("".join(f"{line}\n" for line in encode_frame(wanted)))
        assert path.read_bytes() == other.read_bytes()


def test_a_dataset_that_is_not_parquet_is_asked_alike(tmp_path, everything, opened):
    with opened(things(tmp_path, "200 1", "100 2", sink="jsonl")) as snapshot:
        asked = Question(where=(Filter("small", "gt", "0"),), sort=(("large", False),), limit=50)
        found, total = tables.rows(snapshot, "served.thing", asked)

    wanted = everything.filter(pl.col("small") > 0).sort("large", maintain_order=True)
    assert total == wanted.height
    assert found["large"].to_pylist() == wanted["large"].to_list()[:50]
    assert everything.schema["notes"] == TEXT_MAP
