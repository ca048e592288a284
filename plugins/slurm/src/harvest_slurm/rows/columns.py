"""The typed columns of rows of text: each from the first of sacct's fields that has a value."""

from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import harvest
from harvest_toolkit.clocks import Length, Shown, decide, named

from ..read.columns import Column, RawRows, series
from ..records import Job, Step
from ..values.convert import Context, Converted, convert, resource_maps
from ..values.fields import AMOUNTS, BY_NAME, KINDS, STRING, TIMESTAMP, field_of
from ..values.scalars import NOTHING


class Columns:
    """The columns of one record type.

    ids: the parsed ids of the same rows.
    errors: field name, field and reasons of texts that cannot be read; the first one counts.
    """

    def __init__(self, cls: type[Job] | type[Step], raw: RawRows, ids: pl.DataFrame, ctx: Context):
        self.ctx = ctx
        self.step = cls is Step
        self.rows = len(raw.position)
        self.kinds = {field.name: field.type for field in harvest.record_type(cls).arrow_schema}
        self.ready = {
            name: ids[name].to_arrow().cast(self.kinds[name])
            for name in ids.columns
            if name in self.kinds
        }
        self.texts: dict[str, Column] = {}  # what each column was read from
        self.twice: dict[str, tuple[Any, Any]] = {}  # times that the clock showed twice
        self.named: dict[str, str] = {}  # and the name of that field
        self.position = raw.position
        self.extra: dict[str, Any] = {}
        self.errors: list[tuple[str, Column, Any]] = []
        if ids["error"].count():
            shown = raw.column("JobID" if "JobID" in raw.names else "JobIDRaw")
            self.errors.append(("JobID", shown, ids["error"].to_arrow()))
        for name, column, kind in _targets(tuple(raw.names), self.step):
            self._add(name, column, kind, raw.column(name))
        if self.twice:
            self.ready |= _decided(self.ready, self.twice, step=self.step)
        self._derive()

    def table(self) -> pa.Table:
        """Return all columns."""
        extra = {"extra": self._extra_map()} if self.extra else {}
        return pa.table(self.ready | extra)

    def _add(self, name: str, column: str | None, kind: str, field: Column) -> None:
        if field.blank:
            if column and column in self.kinds and column not in self.ready:
                self.ready[column] = pa.nulls(self.rows, self.kinds[column])
            return
        if column is None:
            text = field.text
            nothing = pc.is_in(text, value_set=_WORDS) if kind != "text" else None
            self._keep(name, text if nothing is None else pc.if_else(nothing, _NOTHING, text))
            return
        read = convert(kind, field, self.ctx)
        if read.twice is not None and column not in self.ready:
            self.twice[column] = read.twice
        if read.errors is not None:
            self.errors.append((name, field, read.errors))
        is_first = column not in self.texts
        stem = column.removesuffix("_code").removesuffix("_bytes")
        for suffix, values in read.values.items():
            place = f"{stem}_{suffix}" if suffix else column
            if place in self.ready and not is_first:
                self._second(name, place, values, field, read)
            elif place in self.kinds:
                self.ready[place] = values
        if read.words is not None and is_first:
            self._keep(name, read.words)
        self.texts.setdefault(column, field)
        self.named.setdefault(column, name)
        if name in AMOUNTS:
            self._amounts(name, field, read)

    def _second(self, name: str, place: str, values: Any, field: Column, read: Converted) -> None:
        """Use a second field for a column: it fills gaps; other values go to extra."""
        first = self.ready[place]
        if pa.types.is_nested(first.type):
            if not self.texts[place].text.equals(field.text):
                self._keep(name, field.text)
            return
        differs = self._contradicts(place, name, values)
        if differs is not None:
            self._keep(name, pc.if_else(differs, field.text, _NOTHING))
        self.ready[place] = pc.coalesce(first, values)
        if read.words is not None and place in self.texts:
            # a word of the second field counts only if the first field was empty
            silent = pc.equal(self.texts[place].text, "")
            self._keep(name, pc.if_else(silent, read.words, _NOTHING))

    def _gap(self, column: str) -> Any | None:
        """Return a mask of the empty rows of a column; None if none is empty."""
        first = self.ready.get(column)
        if first is None:
            return pa.repeat(pa.scalar(True), self.rows)
        return first.is_null() if first.null_count else None

    def _fill(self, column: str, values: Any) -> None:
        first, values = self.ready.get(column), values.cast(self.kinds[column])
        self.ready[column] = values if first is None else pc.coalesce(first, values)

    def _amounts(self, name: str, field: Column, read: Converted) -> None:
        """Fill the gaps of columns with amounts that a field lists, and compare the others."""
        gap = {c: self._gap(c) for c in AMOUNTS[name].values() if c in self.kinds}
        missing = [rows for rows in gap.values() if rows is not None]
        maps, index = read.distinct or (None, None)
        if maps is None and missing:
            # only of rows with gaps, for speed; an unreadable text is an error of its own column
            wanted = pc.and_(reduce(pc.or_, missing), pa.array(field.full))
            texts = Column(pc.if_else(wanted, field.text, ""))
            maps = resource_maps(KINDS["usage"], texts).values[""]
        amount = _amount_of(maps) if maps is not None else None
        for key, column in AMOUNTS[name].items():
            compared = index is not None and key in _COUNTED and column in self.named
            if amount is None or column not in gap or (gap[column] is None and not compared):
                continue
            values = amount(key)
            values = values if index is None else values.take(index)
            if compared:
                self._contradicts(column, f"{name} ({key})", values)
            if gap[column] is not None:
                self._fill(column, values)
            self.texts.setdefault(column, field)
            self.named.setdefault(column, f"{name} ({key})")

    def _contradicts(self, column: str, name: str, values: Any) -> Any | None:
        """Return the rows in which a second source of a column differs; None if none does."""
        differs = pc.fill_null(pc.not_equal(self.ready[column], values), False)
        count = pc.sum(differs).as_py()
        if not count:
            return None
        row = pc.index(differs, True).as_py()
        said = f"{self.ready[column][row]} and {values[row]}"
        shown = f"job {self.ready['job_id'][row]}, line {self.position[row]}: {said}"
        pair = self.named.get(column, column), name
        if name != "ConsumedEnergy":  # which sacct rounds: 1.52K
            self.ctx.contradictions.setdefault(pair, [0, shown])[0] += count
        return differs

    def _derive(self) -> None:
        """Fill columns that follow from others, CPUs from requested CPUs last."""
        ctx, sources = self.ctx, dict(_SOURCES)
        if self.step:
            del sources["alloc_cpus"]
        for column, source in sources.items():
            gap = self._gap(column)
            values = None if gap is None else source(self.ready)
            if values is None or not pc.any(pc.and_(gap, values.is_valid())).as_py():
                continue
            self._fill(column, values)
            ctx.elapsed_from_times |= column == "elapsed_s" and "suspended_s" not in self.ready
            ctx.cpus_from_request |= column == "alloc_cpus"
        gap = self._gap("cluster")
        if ctx.cluster is not None and gap is not None:
            self._fill("cluster", pa.repeat(pa.scalar(ctx.cluster), self.rows))

    def _keep(self, name: str, text: Any) -> None:
        """Put text into extra, under sacct's name of the field."""
        if pc.any(pc.not_equal(text, "")).as_py():
            self.extra[name] = text

    def _extra_map(self) -> pa.MapArray:
        texts = list(self.extra.values())
        kept = (pc.fill_null(pc.not_equal(text, ""), False) for text in texts)
        has = np.stack([mask.to_numpy(zero_copy_only=False) for mask in kept])
        rows, names = np.nonzero(has.T)
        counts = has.sum(axis=0)
        return pa.MapArray.from_arrays(
            pa.array(np.append(0, counts.cumsum()), pa.int32(), mask=np.append(counts == 0, False)),
            pa.array(self.extra).take(pa.array(names)),
            pa.concat_arrays(texts).take(pa.array(names * self.rows + rows)),
        )


_NOTHING: Final = pa.scalar(None, pa.string())
_WORDS: Final = pa.array(NOTHING)
_COUNTED: Final = ("cpu", "node")
"""Resources with a field of their own; the memory field may be per CPU or node."""
_ORDER: Final = {field.name: place for place, field in enumerate(BY_NAME.values())}


@cache
def _targets(names: tuple[str, ...], step: bool) -> list[tuple[str, str | None, str]]:
    """Return fields with their column and kind, without ids.

    Fields that feed the same column are in order of preference.
    """
    known = [(name, field_of(name)) for name in names]
    known.sort(key=lambda item: _ORDER[item[1].name] if item[1] else len(_ORDER))
    return [
        (name, field.step if step else field.job, field.kind) if field else (name, None, "text")
        for name, field in known
        if field is None or field.kind != "id"
    ]


def _amount_of(maps: Any) -> Callable[[str], Any]:
    """Return a function that gives the amounts of a resource in a column of maps."""
    encoded = maps.keys.dictionary_encode()
    codes, items, offsets = encoded.indices.to_numpy(), maps.items, maps.offsets.to_numpy()
    names = {name: code for code, name in enumerate(encoded.dictionary.to_pylist())}

    def of(key: str) -> Any:
        hits = np.flatnonzero(codes == names.get(key, -1))
        rows = np.searchsorted(offsets, hits, side="right") - 1
        index = np.full(len(maps), -1)
        index[rows[::-1]] = hits[::-1]
        return items.take(pa.array(index, mask=index < 0))

    return of


def _elapsed(ready: Mapping[str, Any]) -> Any | None:
    """Return the seconds from start to end, without suspensions if those are known.

    None if one of both times is ambiguous because the clock showed it twice.
    """
    start, end = ready.get("start_time"), ready.get("end_time")
    if start is None or end is None:
        return None
    micros = pc.subtract(end, start).cast(pa.int64())
    seconds = pc.divide(micros.cast(pa.float64(), safe=False), 1e6)  # centuries are not exact
    if "suspended_s" in ready:
        seconds = pc.subtract(seconds, pc.fill_null(ready["suspended_s"], 0.0))
    known = pc.greater_equal(seconds, 0.0)
    if "undecided_times" in ready:
        doubt = pc.match_substring_regex(ready["undecided_times"], "start_time|end_time")
        known = pc.and_(known, pc.invert(pc.fill_null(doubt, False)))
    return pc.if_else(known, seconds, None)


def _total_cpu(ready: Mapping[str, Any]) -> Any | None:
    user, system = ready.get("user_cpu_s"), ready.get("system_cpu_s")
    return None if user is None or system is None else pc.add(user, system)


def _requested_cpus(ready: Mapping[str, Any]) -> Any | None:
    """Return the requested CPUs of jobs that ran."""
    asked, elapsed = ready.get("req_cpus"), ready.get("elapsed_s")
    if asked is None or elapsed is None:
        return None
    ran = pc.fill_null(pc.greater(elapsed, 0.0), False)
    return pc.if_else(ran, asked, pa.scalar(None, asked.type))


_SOURCES: Final = {"elapsed_s": _elapsed, "total_cpu_s": _total_cpu, "alloc_cpus": _requested_cpus}
"""Columns that follow from others, in this order; each is a function of the existing columns."""

_TIMES: Final = ("submit_time", "eligible_time", "start_time", "end_time")
_NOWHERE: Final = np.zeros(0, np.int64)


def _decided(
    ready: Mapping[str, Any], twice: Mapping[str, tuple[Any, Any]], *, step: bool
) -> dict[str, Any]:
    """Return the columns of times, and ``undecided_times``.

    twice: by column, the rows of ambiguous times and by how much the second occurrence is later.

    Submit, Eligible, Start and End follow each other. Elapsed and Suspended are the time from Start
    to End, Planned that from Eligible to Start. A job that was cancelled before it ran may end
    before it is eligible. sacct also prints the Start of a step as its Submit.
    """
    times = {
        name: Shown(series(ready[name]), *twice.get(name, (_NOWHERE, _NOWHERE)))
        for name in _TIMES
        if name in ready
    }
    ran = None
    if "start_time" in times and "end_time" in times:
        ran = times["start_time"].first.ne_missing(times["end_time"].first).to_numpy()
    orders = [
        ("submit_time", "eligible_time", None),
        ("submit_time", "start_time", None),
        ("eligible_time", "start_time", ran),
        ("start_time", "end_time", None),
        *([("start_time", "submit_time", None)] if step else ()),
    ]
    paused = _seconds(ready, "suspended_s")
    ran_for = _seconds(ready, "elapsed_s") + np.nan_to_num(paused)
    planned = _seconds(ready, "planned_s")
    lengths = [
        Length("start_time", "end_time", ran_for, np.isnan(paused)),
        Length("eligible_time", "start_time", planned, np.zeros(len(planned), bool)),
    ]
    found = decide(times, orders, lengths)
    columns = {name: found.times[name].to_arrow().cast(TIMESTAMP) for name in twice}
    mark = named(found.undecided, len(planned))
    return {**columns, "undecided_times": mark.to_arrow().cast(STRING)}


def _seconds(ready: Mapping[str, Any], name: str) -> Any:
    column = ready.get(name)
    if column is None:
        return np.full(len(next(iter(ready.values()))), np.nan)
    return column.to_numpy(zero_copy_only=False)
