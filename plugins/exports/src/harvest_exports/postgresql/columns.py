"""Columns of a table: the PostgreSQL type that keeps every value of a polars type.

Rows are sent in PostgreSQL's binary format, so values must have exactly the column's type.  Lists
of plain values are arrays; maps, structs and lists of them are jsonb.  PostgreSQL cannot hold a few
values: NUL in a text, times before 4714 BC, a map with a duplicate key.  They are changed as little
as possible, and the row names the changed columns.
"""

import functools
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa

from harvest import UsageError
from harvest.model.json import encode_frame

from ..pieces import PIECE, ROW

CHANGED: Final = "harvest_changed"
PLACES: Final = {
    PIECE: (
        "integer",
        "Of which input the row is, as harvest_pieces numbers what was read of each.",
    ),
    ROW: ("bigint", "Which row of it, from 0."),
    CHANGED: ("text[]", "Columns whose value PostgreSQL cannot hold and was changed for it."),
}
"""The columns that end a table, their types and what they mean."""

JSON: Final = "jsonb"
NUL_SHOWN: Final = r"\x00"
"""Replaces a NUL, as other bytes that a text cannot hold."""

_NUL_ESCAPE: Final = "\\u0000"
_ESCAPES: Final = re.compile(r"\\(?:u0000|.)", re.DOTALL)
_FIRST_MICROSECOND: Final = -210_866_803_200_000_000
_FIRST_DAY: Final = -2_440_588
_PLAIN: Final[Mapping[str, Any]] = {
    "boolean": pl.Boolean(),
    "smallint": pl.Int16(),
    "integer": pl.Int32(),
    "bigint": pl.Int64(),
    "numeric(20)": pl.Decimal(20, 0),
    "numeric(38)": pl.Decimal(38, 0),
    "real": pl.Float32(),
    "double precision": pl.Float64(),
    "text": pl.String(),
    "bytea": pl.Binary(),
    "date": pl.Date(),
    "time": pl.Time(),
    "interval": pl.Duration("us"),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us", "UTC"),
}
"""What is sent for a column of each type."""

_TYPES: Final[Mapping[Any, str]] = {
    **{type(kind): name for name, kind in _PLAIN.items()},
    pl.Int8: "smallint",
    pl.Int128: "numeric(38)",
    pl.UInt8: "smallint",
    pl.UInt16: "integer",
    pl.UInt32: "bigint",
    pl.UInt64: "numeric(20)",
    pl.Categorical: "text",
    pl.Enum: "text",
    pl.Null: "text",
}
_WIDTHS: Final = (
    ("smallint", "integer", "bigint", "numeric(20)", "numeric(38)"),
    ("real", "double precision"),
)
"""Types of numbers, each of which keeps every value of those before it."""


def sql_type(kind: pl.DataType) -> str:
    """Choose the PostgreSQL type that keeps every value of a polars type.

    Raises UsageError for Python objects.
    """
    if isinstance(kind, pl.Datetime):
        return "timestamp" if kind.time_zone is None else "timestamptz"
    if isinstance(kind, pl.Decimal):
        return f"numeric({kind.precision or 38},{kind.scale})"
    if isinstance(kind, (pl.List, pl.Array)):
        inner = sql_type(kind.inner)  # type: ignore[arg-type]
        return JSON if inner == JSON or inner.endswith("[]") else f"{inner}[]"
    if isinstance(kind, pl.Struct):
        return JSON
    if kind == pl.Object:
        raise UsageError("a column of Python objects has no type in PostgreSQL")
    return _TYPES[type(kind)]


def wider(present: str, wanted: str) -> str | None:
    """The type that keeps every value of both types; None if neither does."""
    if present == wanted:
        return present
    if present.endswith("[]") and wanted.endswith("[]"):
        inner = wider(present[:-2], wanted[:-2])
        return None if inner is None else f"{inner}[]"
    for kinds in _WIDTHS:
        if present in kinds and wanted in kinds:
            return max(present, wanted, key=kinds.index)
    return None


@attrs.frozen
class Column:
    """A column of the dataset and its column in the table.

    name: in the dataset; sql_name, sql_type: in the table; shape: its polars type where it is
    written as JSON, which a new field of a struct changes.
    """

    name: str
    sql_name: str
    sql_type: str
    shape: str = ""

    @property
    def sent(self) -> Any:
        """The polars type of the encoded column."""
        kind = self.sql_type
        if kind == JSON:
            return pl.String()
        if kind.endswith("[]"):
            return pl.List(attrs.evolve(self, sql_type=kind[:-2]).sent)
        if kind.startswith("numeric("):
            precision, _, scale = kind[8:-1].partition(",")
            return pl.Decimal(int(precision), int(scale or 0))
        return _PLAIN[kind]


def encoded(
    frame: pl.DataFrame, columns: Sequence[Column], places: pl.DataFrame
) -> tuple[pa.Table, int]:
    """Encode rows with their pieces; gives also the number of changed values."""
    changes: dict[str, pl.Series] = {}
    sent = []
    for column in columns:
        series, changed = _encoded(frame.get_column(column.name), column)
        if changed is not None:
            changes[column.name] = changed
        sent.append(series.alias(column.sql_name))
    sent.append(_marks(changes, frame.height))
    whole = pl.DataFrame([*sent, *places.get_columns()])
    table = whole.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table, sum(int(changed.sum()) for changed in changes.values())


def _marks(changes: Mapping[str, pl.Series], rows: int) -> pl.Series:
    """List the changed columns of each row; null if none changed."""
    if not changes:
        return pl.repeat(None, rows, dtype=pl.List(pl.String), eager=True).alias(CHANGED)
    names = [pl.when(pl.col(name)).then(pl.lit(name)) for name in changes]
    lists = pl.concat_list(names).list.drop_nulls()
    marked = pl.when(lists.list.len() > 0).then(lists)
    return pl.DataFrame(dict(changes)).select(marked.alias(CHANGED)).to_series()


def _encoded(series: pl.Series, column: Column) -> tuple[pl.Series, pl.Series | None]:
    """Encode a column; gives also a mask of changed values, None if none changed."""
    if column.sql_type == JSON:
        return _json_texts(series)
    changed = None
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    plain = column.sql_type.removesuffix("[]")
    if plain.startswith("timestamp") or plain in ("date", "time", "interval"):
        series, changed = _within(series, column.sent)
    if series.dtype != column.sent:
        series = series.cast(column.sent)
    return _without_nul(series) if plain == "text" else (series, changed)


def _within(series: pl.Series, sent: Any) -> tuple[pl.Series, pl.Series | None]:
    """Clip times to the range of PostgreSQL, in microseconds."""
    whole = series.cast(sent)
    marks = [] if series.dtype == sent else [whole.cast(series.dtype).ne_missing(series)]
    if sent == pl.Date or isinstance(sent, pl.Datetime):
        first = _FIRST_DAY if sent == pl.Date else _FIRST_MICROSECOND
        number = whole.to_physical()
        marks.append((number < first).fill_null(value=False))
        whole = number.clip(first).cast(sent)
    changed = functools.reduce(operator.or_, marks) if marks else None
    return whole, changed if changed is not None and changed.any() else None


def _without_nul(series: pl.Series) -> tuple[pl.Series, pl.Series | None]:
    """Show each NUL of texts; gives also a mask of changed values, None if none changed."""
    each = pl.element() if isinstance(series.dtype, pl.List) else pl.col("v")
    has, shown = (
        each.str.contains("\0", literal=True),
        each.str.replace_all("\0", NUL_SHOWN, literal=True),
    )
    if isinstance(series.dtype, pl.List):
        has, shown = pl.col("v").list.eval(has).list.any(), pl.col("v").list.eval(shown)
    frame = series.alias("v").to_frame()
    changed = frame.select(has.fill_null(value=False)).to_series()
    return (frame.select(shown).to_series(), changed) if changed.any() else (series, None)


def _json_texts(series: pl.Series) -> tuple[pl.Series, pl.Series | None]:
    """Encode maps, structs and lists of them as binary jsonb: a byte 1, then JSON text.

    The text is that of harvest's JSON Lines: NaN and infinities are words, bytes are base64.
    Gives also a mask of changed values, None if none changed.
    An object of jsonb has each key once: a map that has one twice is an array of its pairs.
    """
    texts, changed = _texts(series), None
    if (twice := _with_a_key_twice(series)).any():
        pairs = series.list.eval(pl.element().struct.rename_fields(["name", "value"]))
        texts, changed = _texts(pairs).zip_with(twice, texts), twice
    with_nul = texts.str.contains(_NUL_ESCAPE, literal=True)
    if with_nul.any():
        shown = texts.map_elements(_without_nul_escapes, return_dtype=pl.String)
        differs = shown != texts
        texts, changed = shown, differs if changed is None else changed | differs
    sent = pl.select(pl.when(series.is_not_null()).then("\x01" + texts)).to_series()
    return sent, changed if changed is not None and changed.any() else None


def _texts(series: pl.Series) -> pl.Series:
    texts = encode_frame(series.alias("v").to_frame())
    return texts.str.strip_prefix('{"v":').str.head(-1)


def _with_a_key_twice(series: pl.Series) -> pl.Series:
    """Mask the maps (lists of structs of key and value) with a duplicate key."""
    inner = series.dtype.inner if isinstance(series.dtype, pl.List) else None
    if not isinstance(inner, pl.Struct) or [f.name for f in inner.fields] != ["key", "value"]:
        return pl.repeat(False, len(series), dtype=pl.Boolean, eager=True)
    keys = series.list.eval(pl.element().struct.field("key"))
    return (keys.list.n_unique() < keys.list.len()).fill_null(value=False)


def _without_nul_escapes(text: str) -> str:
    """Replace NUL escapes in JSON text; other escapes stay."""

    def shown(match: re.Match[str]) -> str:
        return match[0] if match[0] != _NUL_ESCAPE else NUL_SHOWN.replace("\\", "\\\\")

    return _ESCAPES.sub(shown, text)
