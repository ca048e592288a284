"""Bugs of an exporter."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

WHOLE: Final = (
    'with replacing(Path(target)) as temporary, temporary.open("w", encoding="utf-8") as file:'
)

EXPORTERS: Final = (
    Bug(
        "exporter",
        "rows lost",
        "export-first-thousand",
        "Only the first thousand rows of each record type are exported.",
        (("dataset[name].collect()", "dataset[name].head(1000).collect()"),),
    ),
    Bug(
        "exporter",
        "left behind",
        "half-a-file",
        "The target is written in place: an export that fails leaves half of it over the old one.",
        ((WHOLE, 'with Path(target).open("w", encoding="utf-8") as file:'),),
    ),
    Bug(
        "exporter",
        "counts",
        "names-no-file",
        "It gives no files that it wrote, and the user reads that nothing was.",
        (("    return [Path(target)]\n", "    return []\n"),),
    ),
    Bug(
        "exporter",
        "errors end the run",
        "unknown-type-is-a-traceback",
        "A record type that is not there ends with a KeyError.",
        (
            (
                "raise ValueError(f\"the dataset has no {types}; it has {', '.join(dataset)}\")",
                "raise KeyError(types)",
            ),
        ),
    ),
    Bug(
        "exporter",
        "settings",
        "types-ignored",
        "The setting 'types' is accepted, and everything is exported.",
        (("if types in (None, name)]", "]"),),
    ),
    Bug(
        "exporter",
        "surroundings",
        "in-the-working-directory",
        "The file is written where the program was started, and not where the user said.",
        (
            ("with replacing(Path(target))", "with replacing(Path(Path(target).name))"),
            ("return [Path(target)]", "return [Path(Path(target).name)]"),
        ),
    ),
    Bug(
        "exporter",
        "order",
        "any-order-of-types",
        "Record types come in the order of a hash: two exports of one dataset differ.",
        (("in sorted(dataset)", "in sorted(dataset, key=hash)"),),
    ),
    Bug(
        "exporter",
        "numbers",
        "exported-by-float",
        "Whole numbers go through a float: those beyond 2^53 are others.",
        (
            (".collect().to_dicts()", ".cast({pl.Int64: pl.Float64}).collect().to_dicts()"),
            ("import harvest\n", "import polars as pl\n\nimport harvest\n"),
        ),
    ),
)
