"""``harvest show`` and ``harvest runs``: what a dataset holds, and the runs that wrote it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harvest import UsageError
from harvest.commands.asking import answer
from harvest.commands.tables import print_json, print_lines, print_table
from harvest.errors import suggestion
from harvest.toolkit.amounts import bytes_in_words, count_in_words


def show_dataset(dataset: Path, *, json: bool) -> int:
    """Print record types with rows and times, sources, runs, size, views and reports."""
    found = answer(dataset, lambda opened: opened.summary())
    if json:
        print_json(found)
        return 0
    print_lines(
        [
            f"{dataset}: {count_in_words(found['rows'], 'row')} from "
            f"{count_in_words(found['inputs'], 'input')}, {bytes_in_words(found['size_bytes'])}; "
            f"{count_in_words(len(found['runs']), 'run')}, the last on {found['runs'][-1]['ended']}"
            if found["runs"]
            else f"{dataset}: empty"
        ]
    )
    print()
    print_table(
        ("record type", "rows", "inputs", "from", "times"),
        [
            (t["name"], t["rows"], t["inputs"], ", ".join(t["sources"]), _times(t))
            for t in found["record_types"]
        ],
        right=("rows", "inputs"),
    )
    if found["rejects"]:
        units = count_in_words(found["rejects"], "input unit")
        print()
        print_lines([f"{units} could not be read: harvest rejects {dataset}"])
    for word, names in (("view", found["views"]), ("report", found["reports"])):
        print(f"\n{word}s:")
        print_lines(f"  harvest {word} {name} {dataset}" for name in names)
    print()
    print_lines([f"what it means: harvest findings {dataset}"])
    return 0


def _times(kind: dict[str, Any]) -> str:
    """From when to when: ``2026-03-02 06:10 to 07:15``, or the days alone if there are several."""
    first, last = kind["first"] or "", kind["last"] or ""
    if first[:10] != last[:10]:
        return f"{first[:10]} to {last[:10]}"
    return first if first == last else f"{first} to {last[11:]}"


def print_run(records: list[dict[str, Any]], run: str, *, where: str, json: bool) -> None:
    """One of the runs that wrote a dataset; raises UsageError for another one."""
    record = next((record for record in records if record["run"] == run), None)
    if record is None:
        raise UsageError(
            f"no run {run!r} was committed here",
            where=where,
            remedy=suggestion(run, [record["run"] for record in records]),
        )
    print_json(record) if json else _print_run(record)


def print_runs(records: list[dict[str, Any]], kept_bytes: Callable[[], int], *, json: bool) -> None:
    """The runs that wrote a dataset; kept_bytes: gives the size of the states that are kept."""
    if json:
        print_json(records)
        return
    _print_runs(records)
    if kept := sum(1 for record in records if record["state"] == "kept"):
        states = "1 earlier state is" if kept == 1 else f"{kept} earlier states are"
        print(f"\n{states} kept, in {kept_bytes():,} bytes beside the present one")


def _total(record: dict[str, Any], key: str) -> int:
    return sum(account[key] for account in record["account"])


def _what(record: dict[str, Any]) -> str:
    if record["action"] == "rollback":
        return f"rollback to {record['to']}"
    return ", ".join(f"{s['name']}:{s['location']}" for s in record["sources"])


def _print_runs(records: list[dict[str, Any]]) -> None:
    columns = ("run", "started", "user", "action", "sources", "partitions", "written", "rejected")
    print_table(
        (*columns, "state"),
        [
            (
                r["run"],
                r["started"][:19].replace("T", " "),
                f"{r['user']}@{r['host']}",
                r["action"],
                _what(r),
                r["partitions"],
                _total(r, "written"),
                _total(r, "rejected"),
                r["state"],
            )
            if r["problem"] is None
            else (r["run"], *[""] * 3, r["problem"], *[""] * 3, r["state"])
            for r in records
        ],
        right=("partitions", "written", "rejected"),
        upright=True,
    )


def _print_run(record: dict[str, Any]) -> None:
    if record["problem"] is not None:
        print(record["problem"])
        return
    rows: list[tuple[str, Any]] = []
    for key, value in record.items():
        if key in ("account", "problem") or value in (None, [], {}):
            continue
        if key == "sources":
            value = [f"{s['name']}:{s['location']}" for s in value]
        elif key == "sink":
            value = f"{value['name']}:{value['location']}"
        elif key == "source_plugins":
            value = [f"{name}: {version}" for name, version in value.items()]
        elif key == "settings":
            value = [f"{name}.{k}={v}" for name, values in value.items() for k, v in values.items()]
        items = value if isinstance(value, list) else [value]
        rows += [(key if number == 0 else "", item) for number, item in enumerate(items)]
    print_table(("", ""), rows)
    columns = ("partitions", "read", "written", "filtered", "folded", "rejected")
    if record["account"]:
        print()
        print_table(
            ("source", *columns),
            [(a["source"], *(a[column] for column in columns)) for a in record["account"]],
            right=columns,
            upright=True,
        )
