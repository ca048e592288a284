"""Bugs of a source that reads JSON documents whole."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

PART: Final = 'ctx.reject(packed(part), f"no part: {error!r}", position=number)'
LOADED: Final = "document = load(partition, self.config.max_bytes)"

NESTED: Final = (
    Bug(
        "nested",
        "numbers",
        "rank-unbounded",
        "A number beyond 64 bits ends the user's whole run.",
        ((" or not -(2**63) <= value < 2**63:", ":"),),
    ),
    Bug(
        "nested",
        "times",
        "seconds-alone",
        "Nanoseconds are cut to seconds.",
        (
            (
                "timedelta(microseconds=nanoseconds // 1000)",
                "timedelta(seconds=nanoseconds // 1_000_000_000)",
            ),
        ),
        "that a whole number is a time in nanoseconds, the format says",
    ),
    Bug(
        "nested",
        "one bad value takes more",
        "part-ends-the-step",
        "After one damaged part the others of its step are not read.",
        ((PART, f"{PART}\n                    break"),),
    ),
    Bug(
        "nested",
        "texts changed",
        "empty-labels-dropped",
        "Labels that are there and empty are dropped.",
        (('each["labels"].items()}', 'each["labels"].items() if v}'),),
    ),
    Bug(
        "nested",
        "errors swallowed",
        "damaged-is-empty",
        "A document that is no JSON counts as empty, and nobody hears of it.",
        (
            (
                f"        {LOADED}\n",
                f"        try:\n            {LOADED}\n        except SourceError:\n            return\n",
            ),
        ),
    ),
    Bug(
        "nested",
        "errors end the run",
        "cut-gzip-ends-the-run",
        "A packed document that was cut off ends the user's whole run.",
        (
            (
                "except (EOFError, zlib.error, gzip.BadGzipFile) as error:",
                "except gzip.BadGzipFile as error:",
            ),
        ),
    ),
    Bug(
        "nested",
        "errors end the run",
        "deep-nesting-ends-the-run",
        "A document of very many brackets ends the user's whole run.",
        (("except (ValueError, RecursionError) as error:", "except ValueError as error:"),),
    ),
    Bug(
        "nested",
        "errors end the run",
        "half-surrogate-ends-the-run",
        "A text with half a surrogate pair, which JSON allows, ends the user's whole run.",
        (('    value.encode("utf-8")\n', ""),),
    ),
    Bug(
        "nested",
        "order",
        "parts-by-hash",
        "Parts come in an order that is another in each process, and so do their positions.",
        (
            (
                'for part in each.get("parts", []):',
                'for part in sorted(each.get("parts", []), key=lambda p: hash(str(p))):',
            ),
        ),
    ),
    Bug(
        "nested",
        "position",
        "parts-numbered-in-steps",
        "Parts are numbered in their step: two rows of a file have one position.",
        (
            (
                'for part in each.get("parts", []):\n                number += 1\n',
                'for rank, part in enumerate(each.get("parts", []), 1):\n                number += 1\n',
            ),
            ("yield part_of(part, step, number)", "yield part_of(part, step, rank)"),
        ),
    ),
    Bug(
        "nested",
        "state kept",
        "document-by-name",
        "Documents are remembered by their names: one of the same name elsewhere is taken for it.",
        (
            (
                LOADED,
                "document = self.known.setdefault(partition.path.name, None) or load(partition, self.config.max_bytes)\n        self.known[partition.path.name] = document",
            ),
            ("    Config = Config\n", "    Config = Config\n    known = {}\n"),
        ),
    ),
    Bug(
        "nested",
        "reject's text",
        "raw-of-python",
        "The text of a reject is Python's and not JSON: no tool reads it.",
        (("packed(part)", "repr(part)"),),
        "what the text of a unit inside a document is, the format says",
    ),
    Bug(
        "nested",
        "surroundings",
        "run-of-the-file-name",
        "The run is called as the file: a copy of it is another run.",
        (
            (
                'run, steps = document["simulation"], document["steps"]',
                'run, steps = partition.path.stem, document["steps"]',
            ),
        ),
    ),
    Bug(
        "nested",
        "surroundings",
        "recursion-limit-raised",
        "It raises Python's recursion limit for the whole process, which may then crash.",
        (
            (
                "    try:\n        document = json",
                "    sys.setrecursionlimit(1_000_000)\n    try:\n        document = json",
            ),
            ("import attrs\n", "import sys\n\nimport attrs\n"),
        ),
    ),
    Bug(
        "nested",
        "account",
        "damaged-parts-uncounted",
        "Damaged parts are skipped, neither read nor rejected, and the account adds up.",
        (
            (
                "                    yield part_of(part, step, number)\n",
                "                    row = part_of(part, step, number)\n",
            ),
            (PART, "ctx.read(-1)\n                else:\n                    yield row"),
        ),
    ),
)
