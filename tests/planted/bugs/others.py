"""Bugs of an exporter and of an engine."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

WHOLE: Final = (
    'with replacing(Path(target)) as temporary, temporary.open("w", encoding="utf-8") as file:'
)

OTHERS: Final = (
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
        "how a format writes numbers is its own, unless its author says how to read it natively",
    ),
    Bug(
        "engine",
        "bundles lost",
        "last-bundle-lost",
        "The last bundle in hand is dropped when the others are done.",
        (("            if not self.given:\n", "            if len(self.given) < 2:\n"),),
    ),
    Bug(
        "engine",
        "bundles lost",
        "failures-passed-over",
        "What a bundle raises is passed over, and its result is missing.",
        (
            (
                "                result = future.result()\n",
                "                if future.exception() is not None:\n                    del self.given[future]\n"
                "                    continue\n                result = future.result()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "bundles lost",
        "lost-workers-bundles",
        "What a lost worker had in hand is not given out again.",
        (("again = list(pool.given.values())", "again = list(pool.given.values())[:0]"),),
    ),
    Bug(
        "engine",
        "memory",
        "all-bundles-at-once",
        "All bundles are made before the first is read: a million partitions fill the memory.",
        (
            (
                "bundles = map(harvest.Bundle.prepare, work.bundles)",
                "bundles = iter(list(map(harvest.Bundle.prepare, work.bundles)))",
            ),
        ),
    ),
    Bug(
        "engine",
        "interruptions",
        "interrupt-unheard",
        "Ctrl-C is not noticed until all is read.",
        (("            interrupt.check()\n", ""),),
    ),
    Bug(
        "engine",
        "interruptions",
        "workers-live-on",
        "Workers read on when the run has been interrupted.",
        (("            worker.kill()\n", "            pass\n"),),
    ),
    Bug(
        "engine",
        "position",
        "prepared-by-workers",
        "Bundles are prepared by the workers, each on its own and in no order.",
        (
            ("bundles = map(harvest.Bundle.prepare, work.bundles)", "bundles = iter(work.bundles)"),
            (
                "    return bundle.read(_reports.put)",
                "    return bundle.prepare().read(_reports.put)",
            ),
        ),
    ),
    Bug(
        "engine",
        "progress",
        "engine-tells-nothing",
        "Progress is not passed on.",
        (("            self._report()\n", ""),),
    ),
    Bug(
        "engine",
        "settings",
        "workers-ignored",
        "The number of workers that the user gives is ignored.",
        (("workers = self.workers or available_cores()", "workers = available_cores()"),),
    ),
)
