"""Choose units for columns of bytes in a report's tables: one per column, by typical values."""

from collections.abc import Sequence
from typing import Final

import attrs

from harvest import Column
from harvest.toolkit.amounts import BINARY_UNITS

from .model import Table

_SIZES: Final[dict[str, int]] = {unit: 1024**power for power, unit in enumerate(BINARY_UNITS)}
_DECLARED: Final = {"B": 1, **_SIZES} | {
    unit: 1000**power for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB", "EB"), start=1)
}
"""Bytes of the units that columns may declare."""

ZERO: Final = 0.005
"""Smaller numbers show only zeros in two decimals."""
LONGEST: Final = 10_000_000
"""A column with larger numbers in the table's common unit has a unit of its own."""


def in_fitting_units(table: Table) -> Table:
    """Return the table with fitting units for its columns of bytes and of bytes per second.

    Columns share a unit where they can, so that their numbers can be compared.  A column with
    far smaller or larger values has a unit of its own.
    """
    found = {
        column.name: sized
        for column in table.columns
        if (sized := _bytes(column)) and table.rows.schema[column.name].is_numeric()
    }
    units: dict[str, str] = {}
    for per in ("", "/s"):
        amounts = {
            name: _amounts(table, name, size) for name, (size, own) in found.items() if own == per
        }
        common = _best([size for sizes in amounts.values() for size in sizes])
        units |= {
            name: common if _suits(common, sizes) else _best(sizes)
            for name, sizes in amounts.items()
        }
    columns = [
        _in(column, units[column.name], *found[column.name]) if column.name in found else column
        for column in table.columns
    ]
    return attrs.evolve(table, columns=columns)


def _bytes(column: Column) -> tuple[float, str] | None:
    """Return the bytes of a value of 1 and ``""`` or ``/s``; None for no column of bytes."""
    unit, slash, per = (column.unit or "").partition("/")
    if unit not in _DECLARED or per not in ("", "s"):
        return None
    return _DECLARED[unit] / column.scale, slash + per


def _amounts(table: Table, name: str, size: float) -> list[float]:
    """Return the absolute amounts of a column in bytes, sorted, without zeros."""
    values = table.rows[name].drop_nulls().cast(float).drop_nans().abs()
    return sorted(value * size for value in values if value and value != float("inf"))


def _best(amounts: Sequence[float]) -> str:
    """Return the unit in which most amounts are easy to read, the largest of several."""
    units = reversed(BINARY_UNITS) if amounts else BINARY_UNITS
    return min(units, key=lambda unit: sum(_cost(a / _SIZES[unit]) for a in amounts))


def _cost(number: float) -> float:
    """Rate how hard a number with two decimals is to read: all zeros, or too many digits."""
    if number < ZERO:
        return 3.0
    steps = ((1e6, 4.0), (1e5, 2.0), (1e4, 0.5), (1e3, 0.25), (0.1, 0.0), (0.0, 0.5))
    return next(cost for least, cost in steps if number >= least)


def _suits(unit: str, amounts: Sequence[float]) -> bool:
    """Whether the typical one of sorted amounts is easy to read in a unit."""
    size: int = _SIZES[unit]
    if not amounts:
        return True
    return amounts[len(amounts) // 2] >= ZERO * size and amounts[-1] < LONGEST * size


def _in(column: Column, unit: str, size: float, per: str) -> Column:
    sign = "+" if (column.format or "").startswith("+") else ""
    places = ",.0f" if _SIZES[unit] == 1 else ",.2f"
    return attrs.evolve(column, unit=unit + per, format=sign + places, scale=_SIZES[unit] / size)
