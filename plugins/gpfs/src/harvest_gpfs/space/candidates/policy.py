"""What IBM's ``mmapplypolicy`` takes: a rule file, and the list of the files that it looks at.

The rules list, and do no more: there is no DELETE and no MIGRATE in them.  What they ask is what
may have changed since the scan: a file that was touched, grew out of the limits or got another hard
link is not listed any more.  Written by IBM Storage Scale 5.2, "Policy rules: Syntax", "Using macro
processing utilities with policy rules" and "mmapplypolicy command", input file lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from harvest.toolkit.texts import printable_line

from .choose import Choice, like, literal, within

LIST: Final = "candidates"
_PIECE: Final = 100_000
"""Rows of which the lines are made at once."""
_ANY: Final = "surrogateescape"
"""Bytes that are no UTF-8 pass through texts unchanged."""

_SHOW: Final = (
    ("|size=", "FILE_SIZE"),
    ("|kballoc=", "KB_ALLOCATED"),
    ("|access=", "ACCESS_TIME"),
    ("|modify=", "MODIFICATION_TIME"),
    ("|uid=", "USER_ID"),
    ("|gid=", "GROUP_ID"),
    ("|nlink=", "NLINK"),
    ("|pool=", "POOL_NAME"),
    ("|misc=", "MISC_ATTRIBUTES"),
)
"""What the lists of the policy say of each file, so that they can be harvested again."""


def rules(choice: Choice, files: str, size: str) -> str:
    """The rule file: an external list, what is excluded, and what is listed.

    files, size: how many files the list has, and what they hold, for the comment.
    """
    moment = choice.limit.strftime("%Y-%m-%d %H:%M:%S")
    tests = [f"{_POLICY[name]} < TIMESTAMP('{moment}')" for name in choice.times]
    tests.append("NLINK = 1")
    if choice.above:
        tests.append(f"FILE_SIZE >= {choice.above}")
    if choice.uids:
        tests.append("(" + " OR ".join(f"USER_ID = {uid}" for uid in choice.uids) + ")")
    if choice.pool:
        names = " OR ".join(f"POOL_NAME = {literal(name)}" for name in choice.pool)
        tests.append(f"({names})")
    if choice.under:
        tests.append(within(choice.under))
    if choice.only:
        tests.append(like(choice.only))
    plus = ""
    if set(choice.kind) - {"file", "unknown"}:
        plus = "\n  DIRECTORIES_PLUS"
        tests.append("NOT (MODE LIKE 'd%')")
    excluded = ""
    if choice.exclude:
        excluded = f"\nRULE 'excluded' LIST '{LIST}' EXCLUDE WHERE {like(choice.exclude)}\n"
    # the label may be the path of a list
    scan = printable_line(choice.found.scan.label).replace("*/", "* /")
    show = "\n    || ".join(f"'{text}' || VARCHAR({name})" for text, name in _SHOW)
    return (
        f"/* What could go: {files}, {size}, in the scan {scan}.\n"
        "   Nothing here deletes or moves a file: matching files are listed, no more.\n"
        "   mmapplypolicy DEVICE -P candidates.policy -i candidates.list -I defer -f found */\n\n"
        f"RULE 'lists' EXTERNAL LIST '{LIST}' EXEC '' ESCAPE '%/'\n"
        f"{excluded}\n"
        f"RULE 'candidates' LIST '{LIST}'{plus}\n"
        "  WEIGHT(KB_ALLOCATED)\n"
        f"  SHOW({show} || '|')\n"
        "  WHERE " + "\n    AND ".join(tests) + "\n"
    )


_POLICY: Final = {"access_time": "ACCESS_TIME", "modify_time": "MODIFICATION_TIME"}


def file_list(objects: pl.DataFrame) -> Iterator[bytes]:
    """The list for ``mmapplypolicy -i``, of records ``INODE:GENERATION:LENGTH!PATH``, in pieces.

    Numbers are hexadecimal but for the length, in bytes, of the path, which stands as it is.
    Records end with a newline, or with NUL where some path holds a newline.  Of each record that
    one file is tested, and no directory is entered.  Inode and generation are known of all.
    """
    end = "\0" if objects["path"].str.contains("\n", literal=True).any() else "\n"
    for piece in objects.iter_slices(_PIECE):
        heads = pl.DataFrame(
            {
                "inode": _hex(piece["inode"]),
                "generation": _hex(piece["generation"].cast(pl.UInt64)),
                "path": piece["path"],
            }
        ).select(
            head=pl.format("{}:{}:", "inode", "generation"),
            text=pl.format("{}!{}", pl.col("path").str.len_bytes(), "path"),
        )
        texts = heads.select(pl.col("head") + pl.col("text")).to_series().to_list()
        for row, raw in _raw(piece):
            texts[row] = f"{heads['head'][row]}{len(raw)}!{raw.decode('utf-8', _ANY)}"
        yield (end.join(texts) + end).encode("utf-8", _ANY)


def path_list(objects: pl.DataFrame) -> Iterator[bytes]:
    """Paths for people and for ``mmapplypolicy -i``, one a line, in pieces.

    A backslash is written as two, and a newline as a backslash and an n.
    """
    for piece in objects.iter_slices(_PIECE):
        texts = _escaped(piece["path"]).to_list()
        for row, raw in _raw(piece):
            texts[row] = raw.decode("utf-8", _ANY).replace("\\", "\\\\").replace("\n", "\\n")
        yield ("\n".join(texts) + "\n").encode("utf-8", _ANY)


def _escaped(paths: pl.Series) -> pl.Series:
    return paths.str.replace_many(["\\", "\n"], ["\\\\", "\\n"])


def _raw(piece: pl.DataFrame) -> Iterator[tuple[int, bytes]]:
    """The rows whose paths are not as ``path`` shows them, with their bytes."""
    numbered = piece.select("path_raw").with_row_index("row").drop_nulls()
    return numbered.iter_rows()


def _hex(numbers: pl.Series) -> pl.Series:
    """Whole numbers in 16 hexadecimal digits."""
    digits = np.frombuffer(numbers.to_numpy().astype(">u8").tobytes().hex().encode(), "S16")
    return pl.Series(digits.astype("U16"))
