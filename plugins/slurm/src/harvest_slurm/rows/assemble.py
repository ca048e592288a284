"""From rows of text to rows of ``slurm.job`` and ``slurm.step``, with each accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, reduce
from typing import Any, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import harvest
from harvest import ReadContext

from ..read.columns import Column, RawRows
from ..records import Job, Step
from ..values.convert import Context, Converted, convert
from ..values.fields import AMOUNTS, BY_NAME, canonical
from ..values.ids import Ids, read_ids
from . import gaps
from .lost import LostJobs
from .selection import Selection

__all__ = ["assemble"]

Batches: TypeAlias = "Iterator[tuple[type[Job] | type[Step], pa.Table]]"


def assemble(
    blocks: Iterable[RawRows],
    selection: Selection,
    convert: Context,
    ctx: ReadContext,
    *,
    delimiter: str = "|",
) -> Batches:
    """Typed batches of jobs and steps; rejects and filtered rows go to ``ctx``."""
    lost = LostJobs(ctx)
    for raw in blocks:
        ctx.read(len(raw.position))
        jobs, steps = _split(raw)
        job_rows = _build(Job, *jobs, convert, ctx, delimiter)
        step_rows = _build(Step, *steps, convert, ctx, delimiter)
        decided = selection.jobs(job_rows)
        if job_rows.num_rows:
            yield Job, job_rows.filter(decided.goes.is_null()) if selection.active else job_rows
        owned = selection.steps(step_rows, decided, lost.take(raw.names))
        if step_rows.num_rows:
            step_rows = step_rows.append_column("job_position", owned.position)
            step_rows = step_rows.append_column("job_submit_time", owned.submit)
            yield Step, step_rows if owned.keep is None else step_rows.filter(owned.keep)
    for reason, count in sorted(selection.filtered.items()):
        ctx.filtered(count, reason)


def _split(raw: RawRows) -> tuple[tuple[RawRows, Ids], tuple[RawRows, Ids]]:
    """Rows of jobs and rows of steps, with their ids."""
    found = [raw.column(name).id_parts() for name in ("JobID", "JobIDRaw") if name in raw.names]
    is_step = found[0].stepped
    jobs, steps = (
        (raw.pick(index), read_ids(*(parts.pick(index) for parts in found)))
        for index in (np.flatnonzero(~is_step), np.flatnonzero(is_step))
    )
    return jobs, steps


def _build(
    cls: type[Job] | type[Step],
    raw: RawRows,
    ids: Ids,
    convert: Context,
    ctx: ReadContext,
    delimiter: str,
) -> pa.Table:
    built: Built = build(cls is Step, raw, ids, convert)
    for bad in built.rejected:
        one = raw.pick(np.array([bad.index]))
        ctx.reject(
            delimiter.join(one.column(name).text[0].as_py() for name in raw.names),
            bad.reason,
            position=int(raw.position[bad.index]),
            record_type="slurm.step" if cls is Step else "slurm.job",
        )
    position = pa.array(raw.position)
    kept = position if built.kept is None else position.filter(built.kept)
    return built.table.append_column("position", kept)


@attrs.frozen
class Rejected:
    """One row that cannot become a record: its index among the rows given, and why."""

    index: int
    reason: str


@attrs.frozen
class Built:
    """Rows of one record type.

    table: typed columns, without the rejected rows.  kept: mask of the rows that it has; None: all.
    """

    table: pa.Table
    kept: Any | None
    rejected: list[Rejected]


@cache
def _kinds(step: bool) -> dict[str, Any]:
    schema = harvest.record_type(Step if step else Job).arrow_schema
    return {field.name: field.type for field in schema}


class _Columns:
    """Gathers the columns of one record type."""

    def __init__(self, step: bool, rows: int, ctx: Context):
        self.ctx = ctx
        self.step = step
        self.rows = rows
        self.kinds = _kinds(step)
        self.ready: dict[str, Any] = {}
        self.texts: dict[str, Column] = {}  # what each column was read from
        self.extra: dict[str, Any] = {}
        self.errors: list[tuple[str, Column, Any]] = []

    def absent(self, column: str) -> None:
        """A field of the dump that says nothing in these rows."""
        if column in self.kinds and column not in self.ready:
            self.ready[column] = pa.nulls(self.rows, self.kinds[column])

    def add(self, name: str, column: str | None, kind: str, field: Column) -> None:
        """Read the field ``name`` into a column, or into extra where it has none."""
        if field.blank:
            if column is not None:
                self.absent(column)
            return
        if column is None:
            self.keep(name, field.text)
            return
        read = convert(kind, field, self.ctx)
        if read.errors is not None:
            self.errors.append((name, field, read.errors))
        for place, values in self._targets(column, read):
            if place in self.ready and column in self.texts:
                self._second(name, place, values, field, read)
            elif place in self.kinds:
                self.ready[place] = values
        if read.words is not None and column not in self.texts:
            self.keep(name, read.words)
        self.texts.setdefault(column, field)
        if name in AMOUNTS:
            self._amounts(AMOUNTS[name], field, read.values[""])

    def _gap(self, column: str) -> Any | None:
        """Which rows of a column are empty; None where none is."""
        first = self.ready.get(column)
        if first is None:
            return pa.array([True] * self.rows, pa.bool_())
        return first.is_null() if first.null_count else None

    def _fill(self, column: str, values: Any) -> None:
        first = self.ready.get(column)
        values = values.cast(self.kinds[column])
        self.ready[column] = values if first is None else pc.coalesce(first, values)

    def _amounts(self, amounts: dict[str, str], field: Column, maps: Any) -> None:
        """Fill the gaps of columns with amounts that a field lists."""
        wanted = {
            column: (key, gap)
            for key, column in amounts.items()
            if column in self.kinds and (gap := self._gap(column)) is not None
        }
        if wanted and not pa.types.is_map(maps.type):
            maps = gaps.listed(field, reduce(pc.or_, (gap for _, gap in wanted.values())))
        for column, (key, _) in wanted.items():
            self._fill(column, gaps.amount(maps, key))
            self.texts.setdefault(column, field)

    def derive(self) -> None:
        """Fill what follows from other columns."""
        for column, source in (("elapsed_s", gaps.elapsed), ("total_cpu_s", gaps.total_cpu)):
            gap = self._gap(column)
            if gap is None or (values := source(self.ready)) is None:
                continue
            self._fill(column, values)
            if column == "elapsed_s" and "suspended_s" not in self.ready:
                filled = pc.any(pc.and_(gap, values.is_valid())).as_py()
                self.ctx.elapsed_from_times |= bool(filled)
        if self.ctx.cluster is not None and self._gap("cluster") is not None:
            named = pa.scalar(self.ctx.cluster)
            self._fill("cluster", pa.repeat(named, self.rows))
        self._requested_cpus()

    def _requested_cpus(self) -> None:
        """Fill the allocated CPUs of jobs that ran, at last, with those that they asked for."""
        gap = None if self.step else self._gap("alloc_cpus")
        asked, elapsed = self.ready.get("req_cpus"), self.ready.get("elapsed_s")
        if gap is None or asked is None or elapsed is None:
            return
        ran = pc.fill_null(pc.greater(elapsed, 0.0), False)
        values = pc.if_else(ran, asked, pa.scalar(None, asked.type))
        self._fill("alloc_cpus", values)
        filled = pc.any(pc.and_(gap, values.is_valid())).as_py()
        self.ctx.cpus_from_request |= bool(filled)

    def _targets(self, column: str, read: Converted) -> Iterable[tuple[str, Any]]:
        stem = column.removesuffix("_code").removesuffix("_bytes")
        for suffix, values in read.values.items():
            yield (f"{stem}_{suffix}" if suffix else column), values

    def _second(self, name: str, place: str, values: Any, field: Column, read: Converted) -> None:
        """A second field for a column: fills its gaps; what it says otherwise goes to extra."""
        first = self.ready[place]
        if pa.types.is_nested(first.type):
            if not self.texts[place].same(field):
                self.keep(name, field.text)
            return
        differs = pc.fill_null(pc.not_equal(first, values), False)
        if pc.any(differs).as_py():
            self.keep(name, pc.if_else(differs, field.text, pa.scalar(None, pa.string())))
        self.ready[place] = pc.coalesce(first, values)
        if read.words is not None:
            # the first field's word says the same, unless it gave none
            silent = pc.equal(self.texts[place].text, "") if place in self.texts else None
            if silent is not None and pc.any(silent).as_py():
                self.keep(name, pc.if_else(silent, read.words, pa.scalar(None, pa.string())))

    def keep(self, name: str, text: Any) -> None:
        """Put text into extra, under sacct's name of the field."""
        if pc.any(pc.not_equal(text, "")).as_py():
            self.extra[name] = text

    def extra_map(self) -> Any | None:
        """The column ``extra``; None where nothing goes there."""
        if not self.extra:
            return None
        counts = None
        for text in self.extra.values():
            has = pc.cast(pc.fill_null(pc.not_equal(text, ""), False), pa.int32())
            counts = has if counts is None else pc.add(counts, has)
        # entries column by column, then brought into the order of rows
        names, texts, places = [], [], []
        own = pa.array(range(self.rows), pa.int64())
        for name, text in self.extra.items():
            has = pc.fill_null(pc.not_equal(text, ""), False)
            found = text.filter(has)
            texts.append(found)
            places.append(own.filter(has))
            names.append(
                pa.DictionaryArray.from_arrays(
                    pa.array([0] * len(found), pa.int32()), pa.array([name])
                ).cast(pa.string())
            )
        order = pc.sort_indices(
            pa.table({"row": pa.concat_arrays(places)}), sort_keys=[("row", "ascending")]
        )
        ends = pc.cumulative_sum(counts)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
        empty = pa.concat_arrays([pc.equal(counts, 0), pa.array([False])])
        return pa.MapArray.from_arrays(
            pc.if_else(empty, pa.scalar(None, pa.int32()), offsets),
            pa.concat_arrays(names).take(order),
            pa.concat_arrays(texts).take(order),
        )


def build(step: bool, text: RawRows, ids: Ids, ctx: Context) -> Built:
    """Typed rows of one record type from rows of text.

    ids: of the same rows, already read.
    """
    rows = len(text.position)
    columns = _Columns(step, rows, ctx)
    for name, values in {"job_id": ids.job, **ids.columns}.items():
        if name in columns.kinds:
            columns.ready[name] = values
    if step:
        columns.ready["step_id"] = ids.step
    if ids.errors is not None:
        shown = text.column("JobID" if "JobID" in text.names else "JobIDRaw")
        columns.errors.append(("JobID", shown, ids.errors))
    fields = _targets(tuple(text.names), step)
    for name, target, kind in fields:
        columns.add(name, target, kind, text.column(name))
    columns.derive()
    kept, rejected = _judge(columns.errors, rows)
    extra = columns.extra_map()
    if extra is not None:
        columns.ready["extra"] = extra
    table = pa.table(columns.ready)
    return Built(table if kept is None else table.filter(kept), kept, rejected)


_ORDER = {name: place for place, name in enumerate(BY_NAME)}


@cache
def _targets(names: tuple[str, ...], step: bool) -> list[tuple[str, str | None, str]]:
    """Fields with the column that each becomes and what it holds, ids left out.

    In the order of preference among those that feed the same column.
    """
    known = [(name, BY_NAME.get(canonical(name.partition("#")[0]))) for name in names]
    last = len(_ORDER)
    known.sort(key=lambda item: _ORDER[canonical(item[1].name)] if item[1] else last)
    return [
        (
            name,
            (field.step if step else field.job) if field else None,
            field.kind if field else "text",
        )
        for name, field in known
        if field is None or field.kind != "id"
    ]


def _judge(errors: list[tuple[str, Column, Any]], rows: int) -> tuple[Any | None, list[Rejected]]:
    if not errors:
        return None, []
    bad = None
    for _, _, reasons in errors:
        has = pc.is_valid(reasons)
        bad = has if bad is None else pc.or_(bad, has)
    rejected = []
    for index in pc.indices_nonzero(bad).to_pylist():
        for name, field, reasons in errors:
            reason = reasons[index].as_py()
            if reason is not None:
                text = field.some(np.array([index]))[0].as_py()
                rejected.append(Rejected(index, f"{name}: {text!r}: {reason}"))
                break
    return pc.invert(bad), rejected
