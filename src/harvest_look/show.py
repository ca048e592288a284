"""``harvest show``: what a dataset holds, and what can be asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harvest.commands.asking import answer
from harvest.commands.tables import print_json, print_lines, print_table
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
