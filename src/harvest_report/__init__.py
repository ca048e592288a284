"""Reports: tables, plots and texts about a dataset, in several output formats.

A plugin declares a report (:class:`harvest.ReportSpec`), whose build function takes the dataset
and returns a :class:`Report`.  This package decides once for all reports how they look on a
terminal, as a page, as LaTeX and as files.

    >>> from harvest_report import Column, Report, Table
    >>> Report("Waits", sections=[Table("waits", rows, [Column("wait_s", "wait", unit="s")])])
    ... # doctest: +SKIP

Tables, CSV, LaTeX and JSON need no extra; pages and pictures need the extra ``report``
(matplotlib and jinja2).
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvest import Column

    from .axes import bytes_axis, legend, legend_below, name_bars, seconds_axis
    from .draw import COLOURS, INK
    from .interactive import MOST_MARKS
    from .model import LazySection, Marks, Notes, Plot, Section, Table, Tile, with_others
    from .report import Report

__all__ = [
    "COLOURS", "INK", "MOST_MARKS", "Column", "LazySection", "Marks", "Notes", "Plot", "Report",
    "Section", "Table", "Tile", "bytes_axis", "legend", "legend_below", "name_bars",
    "seconds_axis", "with_others",
]  # fmt: skip

_HOMES = (".model", ".axes", ".draw", ".interactive", ".report")
"""Modules of these names, imported on first use, so that a command's help starts quickly."""


def __getattr__(name: str) -> Any:
    for home in _HOMES if name in __all__ else ():
        found = vars(importlib.import_module(home, __name__)).get(name)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"module 'harvest_report' has no attribute {name!r}")
