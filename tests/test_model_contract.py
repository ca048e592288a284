"""What a column takes and what it refuses: the same for instances, Arrow data and polars frames.

First the table of docs/explanation/data-model.md, value by value; then random values of random
types, with the contract said again in plain Python.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import attrs
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.model import BatchError, Int32, Record, RecordType, UInt64, field, record, record_type
from harvest.model.arrow import conform, table_of
from harvest.model.frames import polars_type
from harvest.model.types import shape_of

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "data-model.md"
REFUSED = "refused"
NAMED = (
    r"contract.sample: column 'value' \(.*\) cannot hold .* \(row 1 of a batch, position 7\): .*; ."
)
"""What an error names, and that it says what to do."""


@attrs.frozen
class Piece:
    """A nested column."""

    key: str
    size: int | None = None


def type_of(hint: Any) -> RecordType:
    """A record type with one column."""
    body = {"__annotations__": {"value": hint}, "__doc__": "A value.", "value": field(doc="One.")}
    cls: type[Record] = type("Sample", (Record,), body)
    return record_type(record("contract.sample", layer="workflow", level="client")(cls))


def answer(ask: Callable[[], pa.Table]) -> object:
    """What is stored in the one row, or REFUSED where an error names column, row and position."""
    try:
        (stored,) = ask()["value"].to_pylist()
    except BatchError as error:
        named = re.match(NAMED, str(error))
        return REFUSED if named else str(error)
    return shown(stored)


def shown(value: Any) -> object:
    """A value as text, so that 1, 1.0 and True differ, and NaN does not differ from itself."""
    if attrs.has(type(value)):
        value = attrs.asdict(value, recurse=False)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return [[repr(key), shown(each)] for key, each in value.items()]
    if isinstance(value, tuple) and len(value) == 2:  # as Arrow gives an entry of a map
        return [repr(value[0]), shown(value[1])]
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    return repr(value)


def of_instance(kind: RecordType, value: Any) -> object:
    """The answer to a record instance."""
    cls: Any = kind.cls
    return answer(lambda: table_of(kind, [cls(value=value, origin="/in", position=7)]))


def of_data(kind: RecordType, data: Any) -> object:
    """The answer to Arrow data or to a frame."""
    return answer(lambda: conform(kind, data, origin="/in"))


def of_arrow(kind: RecordType, value: Any, given_type: pa.DataType | None = None) -> object:
    """The answer to an Arrow table with the value, in a column of that or a natural type."""
    column = pa.array([bare(value, list)], given_type or natural(value))
    return of_data(kind, pa.table({"value": column, "position": pa.array([7], pa.int64())}))


def of_polars(kind: RecordType, value: Any, given_type: pl.DataType | None = None) -> object:
    """The answer to a polars frame with the value."""
    if given_type is None and (arrow := natural(value)) is not None:
        given_type = polars_type(arrow)
    column = pl.Series("value", [bare(value, entries)], dtype=given_type)
    return of_data(kind, pl.DataFrame({"value": column, "position": [7]}))


def bare(value: Any, of_map: Callable[[Any], Any]) -> Any:
    """A value of plain containers, a map made by ``of_map`` from keys and values."""
    if attrs.has(type(value)):
        return {a.name: bare(getattr(value, a.name), of_map) for a in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return of_map([(key, bare(each, of_map)) for key, each in value.items()])
    if isinstance(value, (list, tuple)):
        return [bare(each, of_map) for each in value]
    return value


def entries(pairs: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """A map as polars has it."""
    return [{"key": key, "value": value} for key, value in pairs]


def natural(value: Any) -> pa.DataType | None:
    """The type of a map or of a large id, which Arrow does not see in a value; else None."""
    if isinstance(value, int) and value >= 2**63:
        return pa.uint64()
    if not isinstance(value, Mapping):
        return None
    keys, items = pa.array(list(value)).type, pa.array(list(value.values())).type
    plain = {pa.null(): pa.string()}  # of an empty map, or one of null
    return pa.map_(plain.get(keys, keys), plain.get(items, items))


# --- the table of the page ------------------------------------------------------------------------

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOME = timezone(timedelta(hours=2))

TABLE: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "str": (
        str,
        {'"a"': "a", '""': ""},
        {'b"a"': b"a", "7": 7, "True": True, "date(2024, 5, 1)": date(2024, 5, 1),
         r'"\ud800"': "\ud800"},
    ),
    "bytes": (bytes, {'b"a"': b"a"}, {'"a"': "a", "7": 7}),
    "bool": (bool, {"True": True}, {"1": 1, "0.0": 0.0, '"true"': "true"}),
    "int": (
        int,
        {"7": 7, "-2**63": -(2**63)},
        {"7.0": 7.0, "1.5": 1.5, "True": True, '"7"': "7", "2**63": 2**63,
         'Decimal("7")': Decimal("7"), "timedelta(1)": timedelta(1)},
    ),
    "Int32": (Int32, {"7": 7}, {"2**31": 2**31, "7.0": 7.0}),
    "UInt64": (UInt64, {"2**64 - 1": 2**64 - 1}, {"-1": -1, "2**64": 2**64}),
    "float": (
        float,
        {"0.1": 0.1, "7": 7, "2**53": 2**53},
        {"2**53 + 1": 2**53 + 1, "True": True, '"0.1"': "0.1", 'Decimal("0.1")': Decimal("0.1")},
    ),
    "datetime": (
        datetime,
        {"datetime(2024, 5, 1, 12, tzinfo=UTC)": NOON},
        {"datetime(2024, 5, 1, 12)": datetime(2024, 5, 1, 12), "date(2024, 5, 1)": date(2024, 5, 1),
         "0": 0, "0.0": 0.0, '"2024-05-01T12:00:00Z"': "2024-05-01T12:00:00Z",
         "time(12)": time(12)},
    ),
    "int | None": (int | None, {"7": 7, "None": None}, {"7.0": 7.0}),
    "list[int]": (
        list[int],
        {"[1, 2]": [1, 2], "(1, 2)": (1, 2), "[]": []},
        {"[1, None]": [1, None], "[1.0]": [1.0], "[True]": [True], "1": 1, '"12"': "12",
         "None": None, "{1, 2}": {1, 2}},
    ),
    "list[int | None]": (list[int | None], {"[1, None]": [1, None]}, {"None": None}),
    "dict[str, str]": (
        dict[str, str],
        {'{"a": "b"}': {"a": "b"}, "{}": {}},
        {'{"a": None}': {"a": None}, '{"a": 1}': {"a": 1}, '{1: "a"}': {1: "a"}, '"a"': "a"},
    ),
    "Piece": (
        Piece,
        {'Piece("a", 1)': Piece("a", 1), 'Piece("a", None)': Piece("a", None)},
        {"Piece(None, 1)": Piece(None, 1), 'Piece("a", 1.0)': Piece("a", 1.0), '"a"': "a"},
    ),
}  # fmt: skip
"""Name of a declared type -> it, values that it takes, and such that it refuses."""

PYTHON_ONLY = {r'"\ud800"', "2**64", "{1, 2}"}
"""Values of the table that neither Arrow nor polars can be given."""

CASES = [
    pytest.param(hint, value, takes, text in PYTHON_ONLY, id=f"{name}: {text}")
    for name, (hint, taken, refused) in TABLE.items()
    for takes, values in ((True, taken), (False, refused))
    for text, value in values.items()
]


@pytest.mark.parametrize(("hint", "value", "takes", "python_only"), CASES)
def test_a_column_takes_what_the_table_says(
    hint: Any, value: Any, takes: bool, python_only: bool
) -> None:
    kind = type_of(hint)
    stored = float(value) if hint is float and takes else value
    expected = shown(stored) if takes else REFUSED

    assert of_instance(kind, value) == expected
    if not python_only:
        assert of_arrow(kind, value) == expected
        assert of_polars(kind, value) == expected


def test_the_page_shows_the_table() -> None:
    rows = [
        f"| `{escaped(name)}` | {codes(taken)} | {codes(refused)} |"
        for name, (_, taken, refused) in TABLE.items()
    ]
    page = PAGE.read_text("utf-8").partition("## What a column takes")[2].partition("\n## ")[0]

    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def codes(values: Mapping[str, Any]) -> str:
    return ", ".join(f"`{escaped(text)}`" for text in values)


def escaped(text: str) -> str:
    return text.replace("|", r"\|")


# --- random types and values ----------------------------------------------------------------------


@attrs.frozen
class Given:
    """A type that values are given as.

    hint: its annotation where it has one; arrow, frame: the types of a column of such values.
    values: a strategy for values of it.
    """

    arrow: pa.DataType
    frame: pl.DataType
    values: st.SearchStrategy[Any]
    hint: Any = None
    form: str = ""
    parts: tuple[Given, ...] = ()
    nullable: bool = False


def declarable(hint: Any, values: st.SearchStrategy[Any]) -> Given:
    arrow = shape_of(hint).kind
    return Given(arrow, polars_type(arrow), values, hint, str(arrow))


def whole(bits: int, *, signed: bool) -> Given:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = st.sampled_from([low, high, min(high, 2**24 + 1), min(high, 2**53), 0])
    word = f"{'' if signed else 'u'}int{bits}"
    return declarable(Annotated[int, word], near | st.integers(low, high))


YEARS = {"min_value": datetime(2, 1, 1), "max_value": datetime(9998, 1, 1)}
ZONES = st.sampled_from([UTC, HOME, timezone(timedelta(hours=-11, minutes=-30))])

DECLARED = [
    declarable(str, st.text(st.characters(codec="utf-8"), max_size=3)),
    declarable(bytes, st.binary(max_size=3)),
    declarable(bool, st.booleans()),
    *(whole(bits, signed=signed) for bits in (8, 16, 32, 64) for signed in (True, False)),
    declarable(float, st.floats()),
    declarable(Annotated[float, "float32"], st.floats(width=32)),
    declarable(datetime, st.datetimes(**YEARS, timezones=ZONES)),
]
UNDECLARED = [
    Given(pa.date32(), pl.Date(), st.dates(date(1, 1, 1), date(9999, 1, 1))),
    Given(pa.timestamp("us"), pl.Datetime("us"), st.datetimes(**YEARS)),
    Given(pa.duration("us"), pl.Duration("us"), st.timedeltas(timedelta(-9), timedelta(9))),
    Given(pa.decimal128(9, 2), pl.Decimal(9, 2), st.decimals(-9, 9, places=2)),
    Given(pa.time64("us"), pl.Time(), st.times()),
]


def optional(part: Given) -> Given:
    values = st.none() | part.values
    hint = None if part.hint is None else part.hint | None
    return attrs.evolve(part, values=values, hint=hint, nullable=True)


def lists(item: Given) -> Given:
    hint = None if item.hint is None else list[item.hint]
    values = st.lists(item.values, max_size=3)
    return Given(pa.list_(item.arrow), pl.List(item.frame), values, hint, "list", (item,))


def maps(item: Given) -> Given:
    hint = None if item.hint is None else dict[str, item.hint]
    entry = pl.Struct({"key": pl.String(), "value": item.frame})
    values = st.dictionaries(st.sampled_from("abc"), item.values)
    return Given(pa.map_(pa.string(), item.arrow), pl.List(entry), values, hint, "map", (item,))


def structs(parts: list[Given]) -> Given:
    names = "abc"[: len(parts)]
    cls = attrs.make_class(
        "Made", {n: attrs.field(type=p.hint) for n, p in zip(names, parts, strict=True)}
    )
    return Given(
        pa.struct([(n, p.arrow) for n, p in zip(names, parts, strict=True)]),
        pl.Struct({n: p.frame for n, p in zip(names, parts, strict=True)}),
        st.tuples(*(p.values for p in parts)).map(lambda values: cls(*values)),
        cls if all(p.hint is not None for p in parts) else None,
        "struct",
        tuple(parts),
    )


def types_of(leaves: list[Given]) -> st.SearchStrategy[Given]:
    """Types made of such, any part of which may be optional."""

    def maybe(types: st.SearchStrategy[Given]) -> st.SearchStrategy[Given]:
        return types | types.map(optional)

    return st.recursive(
        maybe(st.sampled_from(leaves)),
        lambda inner: maybe(
            inner.map(lists)
            | inner.map(maps)
            | st.lists(inner, min_size=1, max_size=3).map(structs)
        ),
        max_leaves=3,
    )


def near(declared: Given) -> st.SearchStrategy[Given]:
    """Types of the same form, whose parts may be others."""
    if not declared.parts:
        return types_of([*DECLARED, *UNDECLARED]) | st.just(attrs.evolve(declared))
    parts = st.tuples(*(near(part) for part in declared.parts))
    made = {"list": lambda p: lists(*p), "map": lambda p: maps(*p),
            "struct": lambda p: structs(list(p))}[declared.form]  # fmt: skip
    same = parts.map(made)
    return same | same.map(optional)


class Refused(Exception):
    """The contract refuses a value."""


def stored(declared: Given, given_as: Given, value: Any) -> Any:
    """What is stored of a value of a given type in a column of the declared type."""
    if value is None:
        if not declared.nullable:
            raise Refused
        return None
    if declared.parts:
        if given_as.form != declared.form:
            raise Refused
        pairs = zip(declared.parts, given_as.parts, strict=False)
        if declared.form == "list":
            ((part, its),) = pairs
            return [stored(part, its, each) for each in value]
        if declared.form == "map":
            ((part, its),) = pairs
            return {key: stored(part, its, each) for key, each in value.items()}
        if len(given_as.parts) > len(declared.parts):
            raise Refused  # a field that is not declared
        fields = dict.fromkeys("abc"[: len(declared.parts)])
        fields.update({n: getattr(value, n) for n in "abc"[: len(given_as.parts)]})
        its_types = [*given_as.parts, *declared.parts[len(given_as.parts) :]]
        return {
            n: stored(part, its, fields[n])
            for n, part, its in zip(fields, declared.parts, its_types, strict=True)
        }
    if declared.form == given_as.form:
        return value
    if "int" in declared.form and "int" in given_as.form:
        bits = int(declared.form.strip("uint"))
        low = 0 if declared.form.startswith("u") else -(2 ** (bits - 1))
        if low <= value < low + 2**bits:
            return value
    elif declared.form in ("double", "float") and "int" in given_as.form:
        if abs(value) <= (2**53 if declared.form == "double" else 2**24):
            return float(value)
    elif (declared.form, given_as.form) == ("double", "float"):
        return value
    elif (declared.form, given_as.form) == ("float", "double"):
        try:
            narrow = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            raise Refused from None
        if value != value or narrow == value:
            return value
    raise Refused


@pytest.mark.slow
@given(data=st.data())
def test_all_ways_give_the_same_answer(data: st.DataObject) -> None:
    # given a column's type, and a value of that type or of another that looks like it
    declared = data.draw(types_of(DECLARED), "declared")
    given_as = data.draw(near(declared), "given")
    value = data.draw(given_as.values, "value")
    try:
        expected: object = shown(stored(declared, given_as, value))
    except Refused:
        expected = REFUSED
    kind = type_of(declared.hint)

    assert of_instance(kind, value) == expected
    assert of_arrow(kind, value, given_as.arrow) == expected
    assert of_polars(kind, value, given_as.frame) == expected


# --- what only one library has --------------------------------------------------------------------


def frame_with(series: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"value": series, "position": pl.Series(range(7, 7 + len(series)))})


def test_an_error_names_the_first_row_of_many_that_does_not_fit() -> None:
    series = pl.Series([None, 0] * 30_000 + [2**40, 2**41])

    with pytest.raises(BatchError, match=r"1099511627776 \(row 60001 of a batch, position 60007\)"):
        conform(type_of(Int32 | None), frame_with(series), origin="/in")


def test_an_error_says_why_that_row_does_not_fit_and_not_a_later_one() -> None:
    with pytest.raises(BatchError, match=r"1\.5 \(row 1 of .*double is not taken for int64"):
        conform(type_of(int), frame_with(pl.Series([1.5, None])), origin="/in")


def test_categories_of_polars_are_text() -> None:
    for dtype in (pl.Categorical(), pl.Enum(["a", "b"])):
        series = pl.Series(["a", None, "b"], dtype=dtype)
        table = conform(type_of(str | None), frame_with(series), origin="/in")
        assert table["value"].to_pylist() == ["a", None, "b"]

        lists = pl.Series([["a", "b"], None, []], dtype=pl.List(dtype))
        table = conform(type_of(list[str] | None), frame_with(lists), origin="/in")
        assert table["value"].to_pylist() == [["a", "b"], None, []]


@pytest.mark.parametrize("dtype", [pl.Object(), pl.Int128()], ids=str)
def test_what_arrow_has_not_is_refused(dtype: pl.DataType) -> None:
    series = pl.Series([1], dtype=dtype)
    for hint in (int, bytes):
        with pytest.raises(BatchError, match=r"^contract\.sample: .*convert it in the source"):
            conform(type_of(hint), frame_with(series), origin="/in")


def test_a_view_of_lists_is_refused() -> None:
    # Arrow 26 makes invalid lists of it
    views = pa.array([[1]], pa.list_view(pa.int64()))
    assert of_data(type_of(list[int]), pa.table({"value": views, "position": [7]})) == REFUSED


def test_a_column_that_is_there_twice_is_refused() -> None:
    twice = pa.table([[1], [2], [7]], names=["value", "value", "position"])
    with pytest.raises(BatchError, match="column 'value' is there twice"):
        conform(type_of(int | None), twice, origin="/in")


def test_a_field_of_a_struct_that_is_not_declared_is_refused() -> None:
    given = pa.array([{"key": "a", "surplus": 1}])
    table = pa.table([given, [7]], names=["value", "position"])
    with pytest.raises(BatchError, match="field 'surplus' is not declared"):
        conform(type_of(Piece), table, origin="/in")


@pytest.mark.parametrize("hint", [Piece, list[Piece], int])
def test_a_field_that_a_struct_has_twice_is_refused(hint: Any) -> None:
    given = pa.StructArray.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["key", "key"])
    if hint == list[Piece]:
        given = pa.ListArray.from_arrays([0, 1], given)
    assert of_data(type_of(hint), pa.table({"value": given, "position": [7]})) == REFUSED


def test_times_of_finer_units_are_taken_where_nothing_is_lost() -> None:
    kind = type_of(datetime)
    for nanoseconds, expected in ((1_000, "1970-01-01T00:00:00.000001+00:00"), (1_001, REFUSED)):
        column = pa.array([nanoseconds], pa.timestamp("ns", "Asia/Tokyo"))
        assert of_data(kind, pa.table({"value": column, "position": [7]})) == expected


def test_an_origin_that_is_no_text_is_refused_though_some_are_left_to_be_filled() -> None:
    data = pa.table({"value": [1, 2], "origin": [None, 5], "position": [1, 2]})
    with pytest.raises(BatchError, match=r"column 'origin' .* 5 \(row 2 of"):
        conform(type_of(int), data, origin="/in")


def test_scalars_and_arrays_of_numpy_are_what_arrow_takes_them_for() -> None:
    np = pytest.importorskip("numpy", reason="numpy is not installed")
    for hint, value, expected in (
        (int, np.int16(7), "7"),
        (float, np.float32(0.5), "0.5"),
        (float, np.float64(0.5), "0.5"),
        (bool, np.True_, "True"),
        (list[int], np.array([1, 2]), ["1", "2"]),
        (int, np.float64(7), REFUSED),
        (int, np.True_, REFUSED),
        (list[int], np.array([1.0]), REFUSED),
        (datetime, np.datetime64("2024-05-01"), REFUSED),
    ):
        assert of_instance(type_of(hint), value) == expected
