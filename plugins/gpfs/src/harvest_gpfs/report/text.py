"""Amounts and times in the words of a report."""

from __future__ import annotations

from typing import Final

import attrs

__all__ = ["Unit", "bytes_text", "day", "unit_for"]

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@attrs.frozen
class Unit:
    """A unit of bytes that all amounts of a table are shown in."""

    name: str
    size: int

    @property
    def format(self) -> str:
        """How amounts are written."""
        return ",.0f" if self.size == 1 else ",.2f"


def unit_for(largest: int | None) -> Unit:
    """The unit that writes the largest amount in one to four digits."""
    power = 0
    while power < len(_UNITS) - 1 and (largest or 0) >= 1024 ** (power + 1):
        power += 1
    return Unit(_UNITS[power], 1024**power)


def bytes_text(number: int) -> str:
    """An amount in the unit that suits it: ``3.40 TiB``."""
    unit = unit_for(abs(number))
    return f"{number / unit.size:{unit.format}} {unit.name}"


def day(label: str) -> str:
    """A scan as a table names it: ``2026-01-11`` where it was made at midnight."""
    return label.removesuffix("Z").removesuffix("T00:00:00").replace("T", " ")
