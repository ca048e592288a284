"""``harvest show``, ``runs`` and ``rejects``: a dataset's contents, runs and rejects."""

import contextlib
import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from harvest import Dataset, UsageError
from harvest.commands import print_json_line
from harvest.commands.asking import answer
from harvest.commands.tables import how_many, print_json, print_lines, print_table
from harvest.errors import suggestion
from harvest.toolkit.amounts import bytes_in_words, count_in_words


def show_dataset(dataset: Path, *, json: bool) -> int:
    """Print a dataset's record types, sources, runs, size, views and reports."""
    found, unread = answer(dataset, lambda opened: (opened.summary(), opened.unread()))
    if json:
        print_json(found)
        return 0
    runs, held = found["runs"], "empty"
    if runs:
        rows = count_in_words(found["rows"], "row")
        inputs = count_in_words(found["inputs"], "input")
        held = f"{rows} from {inputs}, {bytes_in_words(found['size_bytes'])}; "
        held += f"{count_in_words(len(runs), 'run')}, the last on {runs[-1]['ended']}"
    print_lines([f"{dataset}: {held}"])
    print()
    kinds = [
        (t["name"], t["rows"], t["inputs"], ", ".join(t["sources"]), _times(t))
        for t in found["record_types"]
    ]
    heads = ("record type", "rows", "inputs", "from", "times")
    print_table(heads, kinds, right=("rows", "inputs"))
    if unread:
        print()
        print_lines(unread)
    for word, names in (("view", found["views"]), ("report", found["reports"])):
        print(f"\n{word}s:")
        print_lines(f"  harvest {word} {name} {dataset}" for name in names)
    print()
    print_lines([f"next: harvest findings {dataset}"])
    return 0


def _times(kind: dict[str, Any]) -> str:
    """Format a range: ``2026-03-02 06:10 to 07:15``, or only the days if it spans several."""
    first, last = kind["first"] or "", kind["last"] or ""
    if first[:10] != last[:10]:
        return f"{first[:10]} to {last[:10]}"
    return first if first == last else f"{first} to {last[11:]}"


def print_run(records: list[dict[str, Any]], run: str, *, where: str, json: bool) -> None:
    """Print one of the runs that wrote a dataset; raises UsageError for an unknown run."""
    record = next((record for record in records if record["run"] == run), None)
    if record is None:
        remedy = suggestion(run, [record["run"] for record in records])
        raise UsageError(f"no run {run!r} was committed here", where=where, remedy=remedy)
    print_json(record) if json else _print_run(record)


def print_runs(records: list[dict[str, Any]], kept_bytes: Callable[[], int], *, json: bool) -> None:
    """Print the runs that wrote a dataset; kept_bytes: returns the size of the kept states."""
    if json:
        print_json(records)
        return
    counted = ("partitions", "written", "rejected")
    rows = []
    for r in records:
        shown: tuple[Any, ...] = ("", "", "", r["problem"], "", "", "")
        if r["problem"] is None:
            started, user = r["started"][:19].replace("T", " "), f"{r['user']}@{r['host']}"
            sums = (sum(account[key] for account in r["account"]) for key in counted[1:])
            shown = (started, user, r["action"], _what(r), r["partitions"], *sums)
        rows.append((r["run"], *shown, r["state"]))
    heads = ("run", "started", "user", "action", "sources", *counted, "state")
    print_table(heads, rows, right=counted, upright=True)
    if kept := sum(1 for record in records if record["state"] == "kept"):
        states = "1 earlier state is" if kept == 1 else f"{kept} earlier states are"
        print(f"\n{states} kept, in {kept_bytes():,} bytes")


def _what(record: dict[str, Any]) -> str:
    if record["action"] == "rollback":
        return f"rollback to {record['to']}"
    return ", ".join(f"{s['name']}:{s['location']}" for s in record["sources"])


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
    heads = [column.replace("folded", "merged") for column in columns]
    if record["account"]:
        print()
        counts = [(a["source"], *(a[column] for column in columns)) for a in record["account"]]
        print_table(("source", *heads), counts, right=heads, upright=True)


RAW_SHOWN = 60
"""Characters of a reject's raw text that a table shows."""
CUT = "…"


def print_rejects(
    dataset: Path, rows: int, source: str | None, reason: str | None, *, json: bool
) -> int:
    """Print the first rejects of a dataset, or all of them as JSON lines."""

    def chosen(opened: Dataset) -> Iterator[dict[str, Any]]:
        for row in opened.rejects():
            if source in (None, row["source"]) and (reason is None or reason in row["reason"]):
                yield row

    if json:
        # print only after all rows are read: an attempt that fails is repeated
        with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
            answer(dataset, lambda opened: _write(chosen(opened), lines))
            lines.seek(0)
            shutil.copyfileobj(lines, sys.stdout)
        return 0

    def first(opened: Dataset) -> tuple[list[dict[str, Any]], int]:
        found = chosen(opened)
        shown = list(itertools.islice(found, rows))
        return shown, len(shown) + sum(1 for _ in found)

    shown, total = answer(dataset, first)
    if not total:
        print("no rejects")
        return 0
    texts = [r["raw"].decode("utf-8", "backslashreplace") for r in shown]
    cut = [text if len(text) <= RAW_SHOWN else text[:RAW_SHOWN] + CUT for text in texts]
    heads = ("origin", "position", "reason", "raw")
    cells = [(*(r[head] for head in heads[:3]), text) for r, text in zip(shown, cut, strict=True)]
    print_table(heads, cells, right=("position",), forms={"origin": "path"})
    if any(len(text) > RAW_SHOWN for text in texts):
        print(f"{CUT} marks shortened text; --json shows all that was kept")
    if total > rows:
        print(f"{how_many(rows, 'reject', total)} shown; --rows N or --json for more")
    return 0


def _write(rows: Iterable[dict[str, Any]], lines: IO[str]) -> None:
    """Write rows as JSON lines, replacing those of an earlier attempt."""
    lines.seek(0)
    lines.truncate()
    with contextlib.redirect_stdout(lines):
        for row in rows:
            print_json_line(row)


def print_replay(done: Any, *, json: bool) -> int:
    """Print the result of reading rejects again; return 3 when rejects remain."""
    again = done.again
    read = again.result.parts if again.result else ()
    if json:
        gone = [{"origin": part.origin, "reason": why} for part, why in again.gone]
        run = again.result.run if again.result else None
        answer = {"run": run, "read_again": [part.origin for part in read], "gone": gone}
        print_json({**answer, "rejects_before": done.before, "rejects": done.left})
    else:
        print(f"{count_in_words(len(read), 'partition')} read again")
        print_lines(f"{part.origin} cannot be read again: {why}" for part, why in again.gone)
        print(f"{count_in_words(done.before, 'reject')} before, {done.left:,} now")
    return 3 if done.left else 0
