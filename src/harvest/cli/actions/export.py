"""``harvest export``: a dataset as an RO-Crate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harvest.cli.asking import answer
from harvest.cli.tables import how_many
from harvest.dataset.ro_crate import CrateInfo, write_crate
from harvest.errors import UsageError, suggestion

__all__ = ["export_crate"]

FORMS = ("ro-crate",)


def export_crate(
    dataset: Path,
    target: Path,
    form: str,
    license_: str,
    title: str | None,
    description: str | None,
    authors: Sequence[str] | None,
    publisher: str | None,
) -> int:
    """Write a dataset to a new directory as a research object."""
    if form not in FORMS:
        raise UsageError(f"unknown form {form!r}", remedy=suggestion(form, FORMS))
    info = CrateInfo(
        license=license_,
        title=title,
        description=description,
        authors=tuple(authors or ()),
        publisher=publisher,
    )
    files = answer(dataset, lambda opened: write_crate(opened, target, info))
    print(f"{how_many(len(files), 'file')} written to {target}")
    return 0
