"""Results of SQL in types that JSON, CSV and polars have, too."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from harvest import UsageError

_DAY_NS: Final = 86_400 * 10**9
_MONTH_DAYS: Final = 30
"""As SQL's ``epoch`` counts an interval."""


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with whole numbers as 64 bits, fractions as floats, intervals as seconds.

    Columns of one name are numbered.  Raises UsageError for a number that is too large, or a type
    that nobody can be given.
    """
    seen: dict[str, int] = {}
    names, columns = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name] - 1}")
        columns.append(_plain(name, column))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _plain(name: str, column: Any) -> Any:
    kind = column.type
    if pa.types.is_decimal(kind):
        try:
            return column.cast(pa.float64() if kind.scale else pa.int64())
        except pa.ArrowInvalid as error:
            raise UsageError(
                f"a number in {name!r} has more than 64 bits",
                remedy=f"write CAST({name} AS DOUBLE), or VARCHAR",
            ) from error
    if kind == pa.month_day_nano_interval():
        return pa.array([_seconds(value) for value in column.to_pylist()], pa.float64())
    if pa.types.is_fixed_size_list(kind):
        return column.cast(pa.list_(kind.value_type))
    if pa.types.is_union(kind) or isinstance(kind, pa.BaseExtensionType):
        raise UsageError(
            f"{name!r} has a type of SQL that cannot be given",
            remedy=f"write CAST({name} AS VARCHAR)",
        )
    return column


def _seconds(interval: Any) -> float | None:
    if interval is None:
        return None
    months, days, nanoseconds = interval
    return float(((months * _MONTH_DAYS + days) * _DAY_NS + nanoseconds) / 10**9)
