"""Write a report to a file in the format of its suffix, or in all formats to a directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from harvest.errors import UsageError
from harvest.toolkit.files import write_atomically

from .draw import to_png, to_svg
from .model import Notes, Plot, Section, Table
from .table_files import CSV_TIME, csv_columns

if TYPE_CHECKING:
    from .report import Report


def write(report: Report, target: str | Path) -> list[Path]:
    """Write a report and return the files written; each atomically replaces an old file.

    - ``.html``: a page that opens without a network; ``.txt``: the text of a terminal;
      ``.json``, ``.tex``: all tables and notes.
    - ``.csv``: the main (first) table; ``.png``, ``.svg``: the picture.  For another section call
      ``report.only(name)`` first.
    - a directory, or a name that ends with ``/`` or has no suffix: all of these, with one CSV
      file per table and two pictures per plot.

    Raises UsageError, and writes nothing, when the target is unsuitable.
    """
    path = Path(target).expanduser()
    suffix = path.suffix.lower()
    if path.is_dir() or str(target).endswith("/") or not suffix:
        return _directory(report, path)
    if suffix not in _WRITERS:
        remedy = f"use {', '.join(SUFFIXES)}, or end it with / for a directory"
        raise UsageError(f"unknown file ending {suffix!r}", where=str(path), remedy=remedy)
    if not path.absolute().parent.is_dir():
        raise UsageError("no such directory", where=str(path.parent), remedy="make it first")
    write_atomically(path, _WRITERS[suffix](report, path))
    return [path]


def _directory(report: Report, folder: Path) -> list[Path]:
    if folder.exists() and not folder.is_dir():
        raise UsageError("this is a file", where=str(folder), remedy="name a directory")
    if not folder.absolute().parent.is_dir():
        raise UsageError("no such directory", where=str(folder.parent), remedy="make it first")
    # render everything before writing the first file, so that a failure leaves nothing half done
    files = {
        folder / f"report{suffix}": _WRITERS[suffix](report, folder)
        for suffix in (".html", ".txt", ".tex", ".json")
    }
    for table in report.tables:
        files[folder / f"{table.name}.csv"] = to_csv(table).encode()
    for plot in report.plots:
        files[folder / f"{plot.name}.png"] = to_png(plot)
        files[folder / f"{plot.name}.svg"] = to_svg(plot)
    folder.mkdir(exist_ok=True)
    for path, data in files.items():
        write_atomically(path, data)
    return list(files)


def to_csv(table: Table) -> str:
    """Return a table as CSV with the names of its columns and all digits of its values.

    Cells that a spreadsheet would run as formulas get an apostrophe in front.
    """
    return csv_columns(table.data).write_csv(datetime_format=CSV_TIME)


def to_dict(report: Report) -> dict[str, Any]:
    """Return name, title, paragraphs, facts and sections of a report as plain values."""
    return {
        "report": report.name,
        "title": report.title,
        "tiles": [attrs.asdict(tile) for tile in report.tiles],
        "intro": list(report.intro),
        "made_from": dict(report.facts),
        "verdict": None if report.verdict is None else report.verdict.to_dict(),
        "sections": [_section(section) for section in report.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    named = {"name": section.name, "title": section.title}
    if isinstance(section, Plot):
        return {"kind": "plot", **named, "alt": section.alt}
    if isinstance(section, Notes):
        return {"kind": "notes", **named, "items": list(section.items)}
    columns = [
        {"name": c.name, "label": c.label, "unit": c.unit, "scale": c.scale, "doc": c.doc}
        for c in section.columns
    ]
    rows = section.data.to_dicts()
    return {"kind": "table", **named, "columns": columns, "rows": rows, "note": section.note}


def _json(report: Report, _: Path) -> bytes:
    option = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(report.to_dict(), option=option, default=str)


def _csv(report: Report, path: Path) -> bytes:
    table = report.main_table
    if table is None:
        raise UsageError("it has no table", where=str(path), remedy="write .html")
    return to_csv(table).encode()


def _picture(report: Report, path: Path) -> Plot:
    if report.picture is None:
        raise UsageError("it has no plot", where=str(path), remedy="write .html or .csv")
    return report.picture


_WRITERS: dict[str, Callable[[Report, Path], bytes]] = {
    ".html": lambda report, _: report.html().encode(),
    ".txt": lambda report, _: report.text().encode(),
    ".tex": lambda report, _: report.latex().encode(),
    ".json": _json,
    ".csv": _csv,
    ".png": lambda report, path: to_png(_picture(report, path)),
    ".svg": lambda report, path: to_svg(_picture(report, path)),
}

SUFFIXES = tuple(_WRITERS)
