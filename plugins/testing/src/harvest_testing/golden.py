"""Golden files: what a plugin gave when its author looked at it, kept beside the tests.

    def test_it_reads_what_it_always_read(harvest_collect, harvest_golden, tmp_path):
        found = harvest_collect(GreetingSource, write_sample(tmp_path))
        harvest_golden(found, GreetingSource, root=tmp_path)  # golden/<name of the test>.jsonl

``pytest --harvest-update-golden`` writes the files anew; ``git diff`` then shows what changed.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harvest import Collected
from harvest.model import Record, RecordType, record_type
from harvest.model.json import encode
from harvest.toolkit.texts import printable

from .promise import broken, require

_SHOWN = 40
_updating = False


def update_golden() -> None:
    """Have golden files written instead of compared, for the rest of this process."""
    global _updating
    _updating = True


def check_golden(
    path: Path, found: Collected, kinds: Sequence[type[Record]], *, root: Path | str | None = None
) -> None:
    """Compare everything that a source gave with a golden file, line by line.

    kinds: the record classes of the source.
    root: where the sample lies; it is shown as ``<sample>``, so that the file holds anywhere.

    Raises BrokenPromise with a unified diff where they differ, or where the file is missing.
    """
    lines = [
        _line({"record_type": kind.name, **json.loads(text)}, root)
        for kind in map(record_type, kinds)
        if kind.name in found.tables
        for text in encode(kind, found.tables[kind.name])
    ]
    lines += [
        _line(
            {"reject": r.reason, "origin": r.origin, "position": r.position, "raw": _raw(r.raw)},
            root,
        )
        for r in found.rejects
    ]
    lines += [_line({"note": note}, root) for note in found.notes]
    account = {
        "units": found.units,
        "written": found.written,
        "rejected": len(found.rejects),
        "filtered": dict(sorted(found.filtered.items())),
        "folded": dict(sorted(found.folded.items())),
    }
    _compare(path, [*lines, _line({"account": account}, root)])


def _line(value: dict[str, Any], root: Path | str | None) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if root is None:
        return text
    return text.replace(
        json.dumps(printable(os.fspath(root)), ensure_ascii=False)[1:-1], "<sample>"
    )


def _raw(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _compare(path: Path, lines: list[str]) -> None:
    if _updating:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return
    known = _read(path).splitlines()
    changes = list(difflib.unified_diff(known, lines, str(path), "now", lineterm="", n=1))
    shown = changes[:_SHOWN]
    if len(changes) > _SHOWN:
        shown.append(f"... and {len(changes) - _SHOWN} more lines")
    require(
        not changes,
        "\n".join(shown),
        "mend the plugin; where the change is meant, run pytest with --harvest-update-golden",
    )


def _read(path: Path) -> str:
    if not path.is_file():
        broken(
            f"missing golden file {path}",
            "run pytest with --harvest-update-golden, and look at what it writes",
        )
    return path.read_text("utf-8")


def check_schemas(path: Path, kinds: Sequence[type[Record]]) -> None:
    """Compare record types with those of a golden file: none may lose or change a column.

    A change is allowed together with a higher version of the record type; so are new columns that
    may be null.  Raises BrokenPromise otherwise.
    """
    now = {kind.name: _schema(kind) for kind in map(record_type, kinds)}
    if _updating:
        path.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
        return
    for name, known in json.loads(_read(path)).items():
        require(name in now, f"record type {name} is gone", "keep it among record_types")
        if now[name]["version"] > known["version"]:
            continue
        for column, kind in known["columns"].items():
            found = now[name]["columns"].get(column, "gone")
            require(
                found == kind,
                f"{name}.{column} was {kind}, and is {found}",
                "leave columns as they are; where their meaning must change, raise the record "
                "type's version and run pytest with --harvest-update-golden",
            )
        for column, kind in now[name]["columns"].items():
            require(
                column in known["columns"] or not kind.endswith("not null"),
                f"{name}.{column} is new and may not be null, but rows of before have none",
                "annotate new columns `X | None`",
            )


def _schema(kind: RecordType) -> dict[str, Any]:
    columns = {f.name: f"{f.type}{'' if f.nullable else ' not null'}" for f in kind.arrow_schema}
    return {"version": kind.version, "columns": columns}
