"""``harvest export``: a dataset in a form that others take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harvest import UsageError
from harvest.commands.asking import answer
from harvest.commands.settings import key_values
from harvest.commands.tables import how_many
from harvest.plugins import manager

__all__ = ["export_dataset"]


def export_dataset(
    dataset: Path,
    target: str,
    form: str,
    texts: list[str] | None,
    options: Mapping[str, Any],
) -> int:
    """Write a dataset by an exporter.

    texts: its settings as ``KEY=VALUE``; options: those that have an option of their own.
    """
    known = manager().exporter(form).settings
    given: dict[str, Any] = dict(key_values(texts))
    for name, value in options.items():
        if not value:
            continue
        option = f"--{name.removesuffix('s')}"
        if name in given:
            raise UsageError(f"{option} and --set {name}=... are given", remedy="give one of them")
        if name not in known:
            raise UsageError(f"{option} is not for --as {form}", remedy="leave it out")
        given[name] = value
    files = answer(dataset, lambda opened: opened.export(form, target, **given))
    print(f"{how_many(len(files), 'file')} written to {target}")
    return 0
