"""Parses job ids, lists of hosts and resource requests in columns."""

import re
from typing import Final

import polars as pl

from harvest_toolkit.frames import each_once
from harvest_toolkit.values import SIZE_UNITS

_ID: Final = r"^(\d{1,18})(?:\[(\d{0,18})\]|-(\d{1,18}))?(?:\.(.+))?$"
_UNITS: Final = {name: 1 << bits for name, bits in SIZE_UNITS.items()}
_COUNT: Final = re.compile(r"(\d{1,9})(?=:|$)", re.ASCII)
_AMOUNT: Final = re.compile(r"(\d{1,12})([a-z]{0,2})", re.ASCII | re.IGNORECASE)
_WANTED: Final = {"ncpus": "cpus", "ppn": "cpus", "ngpus": "gpus", "gpus": "gpus", "mem": "mem",
                  "mpiprocs": "procs"}  # fmt: skip
_MOST: Final = 2**63 - 1
REQUEST: Final = ("nodes", "cpus", "gpus", "mem", "procs")
"""The amounts of a resource request."""


def id_parts(job_id: pl.Expr) -> list[pl.Expr]:
    """Parse number, array, index and server: ``123.server``, ``123[4].server``, ``123[].server``.

    Torque before version 3 wrote tasks as ``123-4.server``.
    """
    parts = job_id.str.extract_groups(_ID).struct
    number = parts.field("1").cast(pl.Int64)
    index = pl.coalesce(parts.field("2"), parts.field("3"))
    task = pl.when(index != "").then(index).cast(pl.Int64)
    return [
        number.alias("job_id_raw"),
        pl.when(task.is_not_null()).then(number).alias("array_job_id"),
        task.alias("array_task_id"),
        parts.field("4").alias("cluster"),
    ]


def hosts(exec_host: pl.Expr) -> pl.Expr:
    """Return the hosts of ``n1/0*4+n1/1+n2/0``, each once."""
    names = exec_host.str.replace_all(r"[:/][^+]*", "").str.split("+")
    return names.list.unique(maintain_order=True)


def slots(exec_host: pl.Series) -> pl.Series:
    """Count the slots of hosts: 4 in ``n1/0*4``, 5 in ``n1/0-3,5``, 1 in ``n1/7`` and ``n1``."""
    row = pl.int_range(len(exec_host), dtype=pl.UInt32, eager=True)
    lists = pl.DataFrame({"row": row, "chunk": exec_host.str.split("+")})
    chunks = lists.explode("chunk").drop_nulls()
    items = chunks.select(
        "row",
        times=pl.col("chunk").str.extract(r"\*(\d{1,9})$").cast(pl.Int64).fill_null(1),
        item=pl.col("chunk").str.extract(r"/([\d,-]*)").fill_null("0").str.split(","),
    ).explode("item")
    ends = pl.col("item").str.extract_groups(r"^(\d{1,9})(?:-(\d{1,9}))?$").struct
    first, last = (ends.field(n).cast(pl.Int64) for n in ("1", "2"))
    count = pl.when(first.is_not_null()).then(last.fill_null(first) - first + 1)
    # the slots of a list are unknown if one item has another form
    known = pl.when((count > 0).fill_null(False).all()).then((count * pl.col("times")).sum())
    summed = items.group_by("row").agg(slots=known)
    return lists.join(summed, on="row", how="left", maintain_order="left")["slots"]


def allotted(exec_vnode: pl.Expr, name: str) -> pl.Expr:
    """Sum a resource over ``(n1:ncpus=4:mem=8gb)+(n2:ncpus=4)``; null if no part has it."""
    amounts = exec_vnode.str.extract_all(rf":{name}=\w*").list.eval(_bytes(pl.element()))
    whole = (amounts.list.len() > 0) & (amounts.list.drop_nulls().list.len() == amounts.list.len())
    return pl.when(whole).then(amounts.list.sum()).cast(pl.Int64, strict=False)


def _bytes(text: pl.Expr) -> pl.Expr:
    parts = text.str.extract_groups(r"=(\d{1,12})(\w*)$").struct
    unit = parts.field("2").str.to_lowercase()
    return parts.field("1").cast(pl.Int128) * unit.replace_strict(
        _UNITS, default=None, return_dtype=pl.Int64
    )


def requested(statements: pl.Series) -> pl.DataFrame:
    """Sum the resources of ``2:ncpus=64:ngpus=4+1:ncpus=8``, or Torque's ``2:ppn=8:gpus=2``.

    Few texts differ, so each distinct one is read once.
    """
    amounts = pl.Struct(dict.fromkeys(REQUEST, pl.Int64))
    return each_once(statements, _request, amounts).struct.unnest()


def _request(statement: str) -> dict[str, int | None]:
    total: dict[str, int | None] = dict.fromkeys(REQUEST)
    unread: set[str] = set()
    for chunk in statement.split("+"):
        count, *settings = chunk.split(":")
        times = int(count) if _COUNT.fullmatch(count) else 1
        total["nodes"] = (total["nodes"] or 0) + times
        for setting in [*settings, count]:
            name, _, text = setting.partition("=")
            wanted = _WANTED.get(name)
            amount = _AMOUNT.fullmatch(text)
            if wanted and amount and amount[2].lower() in _UNITS:
                size = int(amount[1]) * _UNITS[amount[2].lower()]
                total[wanted] = (total[wanted] or 0) + times * size
            elif wanted:  # a sum without this amount would be too small
                unread.add(wanted)
    return {
        name: None if name in unread or value is None or value > _MOST else value
        for name, value in total.items()
    }
