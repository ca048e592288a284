"""Bytes in the tables of a report: one unit a column, that of its typical values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import attrs

from harvest.toolkit.amounts import BINARY_UNITS

if TYPE_CHECKING:
    from harvest import Column

    from .model import Table

_SIZES: Final[dict[str, int]] = {unit: 1024**power for power, unit in enumerate(BINARY_UNITS)}
_DECLARED: Final = {"B": 1, **_SIZES} | {
    unit: 1000**power for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB", "EB"), start=1)
}
"""Units of bytes that columns may be declared in."""

TYPICAL: Final = 0.1
"""Of half of the amounts that are not zero there is at least so much in their unit."""
SMALL: Final = 0.01
"""And of three quarters of them so much, which two decimals still show."""
LONGEST: Final = 1_000_000
"""Columns are not shown in a common unit where one would have more of it."""


def in_fitting_units(table: Table) -> Table:
    """The table with columns of bytes, and of bytes per second, as they are shown.

    Columns that have a unit in common have it, so that their numbers can be compared; columns of
    which one is far smaller than the other have units of their own.
    """
    found = {column.name: _bytes(column) for column in table.columns}
    units: dict[str, str] = {}
    for per in ("", "/s"):
        amounts = {
            name: _amounts(table, name, each[0])
            for name, each in found.items()
            if each is not None and each[1] == per and table.rows.schema[name].is_numeric()
        }
        known = [sizes for sizes in amounts.values() if sizes]
        if known:
            common = next(
                (unit for unit in reversed(BINARY_UNITS) if all(_suits(unit, s) for s in known)),
                None,
            )
            most = max(max(sizes) for sizes in known)
            shared = common if common and most < LONGEST * _SIZES[common] else None
            units |= {name: shared or _own(sizes or known[0]) for name, sizes in amounts.items()}
    columns = [
        _in(column, units[column.name], found[column.name]) if column.name in units else column
        for column in table.columns
    ]
    return attrs.evolve(table, columns=columns)


def _bytes(column: Column) -> tuple[float, str] | None:
    """Of a column of bytes: how many bytes a value of 1 is, and what they are counted per."""
    unit, slash, per = (column.unit or "").partition("/")
    if unit not in _DECLARED or per not in ("", "s"):
        return None
    return _DECLARED[unit] / column.scale, slash + per


def _amounts(table: Table, name: str, size: float) -> list[float]:
    """The amounts of a column that are not zero, in bytes and without signs."""
    values = table.rows[name].drop_nulls().cast(float).drop_nans().abs()
    return sorted(value * size for value in values if value and value != float("inf"))


def _suits(unit: str, amounts: Sequence[float]) -> bool:
    """Whether typical amounts can be read in a unit; sorted ones."""
    quarter, half = amounts[(len(amounts) - 1) // 4], amounts[len(amounts) // 2]
    size: int = _SIZES[unit]
    return size == 1 or (half >= TYPICAL * size and quarter >= SMALL * size)


def _own(amounts: Sequence[float]) -> str:
    return next(unit for unit in reversed(BINARY_UNITS) if _suits(unit, amounts))


def _in(column: Column, unit: str, found: tuple[float, str] | None) -> Column:
    assert found is not None
    sign = "+" if (column.format or "").startswith("+") else ""
    places = ",.0f" if _SIZES[unit] == 1 else ",.2f"
    return attrs.evolve(
        column, unit=unit + found[1], format=sign + places, scale=_SIZES[unit] / found[0]
    )
