"""The runs of one log: the last record of each job, and the jobs that were deleted.

A log has several records of each job. A row with the state ``pending`` or ``running`` is held until
a later record of the job replaces it or the log ends. Memory is bounded by the jobs that wait or
run at the same time. A job that someone deleted before it ended is ``cancelled``.
"""

from typing import Final

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext

from .jobs import job_table
from .states import ENDS

LATER: Final = "a later record of the job in this log says more"
WHOLE_ARRAY: Final = "an array as a whole, whose tasks are jobs of their own"

_DELETIONS: Final = pl.Schema(
    [(name, pl.String()) for name in ("job_id", "state_by", "reason")]
    + [("deleted", pl.Datetime("us", "UTC")), ("deletion", pl.Int64())]
)


@attrs.define
class Runs:
    """The jobs of a log so far.

    held: records of jobs without an end. deletions: the first deletion of each job or array.
    """

    ctx: ReadContext
    held: pa.Table | None = None
    deletions: pl.DataFrame = attrs.field(factory=lambda: pl.DataFrame(schema=_DELETIONS))

    def delete(self, events: pa.Table) -> None:
        """Remember the events that deleted or aborted jobs."""
        gone = events.filter(pc.is_in(events["code"], pa.array(["D", "A"])))
        if not gone.num_rows:
            return
        named = gone.select(["job_id", "requestor", "message", "time", "position"]).rename_columns(
            [*_DELETIONS]
        )
        both = pl.concat([self.deletions, pl.DataFrame(named, _DELETIONS)])
        self.deletions = both.unique("job_id", keep="first", maintain_order=True)

    def add(self, records: pa.Table) -> pa.Table:
        """Add the next records, and return the rows of jobs that are final now."""
        if self.held is not None:
            records = pa.concat_tables([self.held, records])
        records = _with_starts(records)
        code, job_id = pl.col("code"), pl.col("job_id")
        frame = pl.from_arrow(records.select(["job_id", "code"]))
        assert isinstance(frame, pl.DataFrame)
        whole = job_id.str.contains("[]", literal=True) & (code != "Q")
        ended, last = code.is_in(ENDS), job_id.is_last_distinct()
        kinds = frame.select(
            whole=whole,
            final=~whole & ended,
            held=~whole & ~ended & last,
            later=~whole & ~ended & ~last,
        )
        self.ctx.folded(int(kinds["whole"].sum()), WHOLE_ARRAY)
        self.ctx.folded(int(kinds["later"].sum()), LATER)
        self.held = records.filter(kinds["held"].to_arrow())
        return self._rows(records.filter(kinds["final"].to_arrow()))

    def rest(self) -> pa.Table:
        """Return the rows of jobs without an end in this log."""
        return self._rows(self.held)

    def _rows(self, records: pa.Table) -> pa.Table:
        """Return rows of jobs, with who deleted them; a waiting job that was deleted ends then."""
        table = job_table(records)
        state, end = pl.col("state"), pl.col("end_time")
        rows = pl.from_arrow(table.select(["job_id", "state", "end_time", "position"]))
        assert isinstance(rows, pl.DataFrame)
        rows = rows.with_columns(array=pl.col("job_id").str.replace(r"\[\d+\]", "[]"))
        for key, suffix in {"job_id": "", "array": "_array"}.items():
            of = self.deletions.rename({name: name + suffix for name in _DELETIONS if suffix})
            rows = rows.join(
                of, left_on=key, right_on="job_id" + suffix, how="left", maintain_order="left"
            )
        rows = rows.with_columns(
            pl.coalesce(name, f"{name}_array") for name in _DELETIONS if name != "job_id"
        )
        # an array may be deleted when some of its tasks have ended
        goes_on = state.is_in(["pending", "running"]).fill_null(value=False)
        in_time = goes_on | (pl.col("deletion") < pl.col("position"))
        rows = rows.with_columns(pl.when(in_time).then(pl.col("state_by", "reason", "deleted")))
        deleted = pl.col("deleted").is_not_null()
        stopped = deleted & ~state.is_in(["running", "requeued"])
        rows = rows.with_columns(
            state=pl.when(stopped).then(pl.lit("cancelled")).otherwise(state),
            end_time=pl.when(deleted & (state == "pending")).then("deleted").otherwise(end),
        ).select("state", "end_time", "state_by", "reason")
        table = table.drop_columns(["state", "end_time"])
        for name, column in zip(rows.columns, rows.to_arrow().columns, strict=True):
            table = table.append_column(name, column)
        return table


def _with_starts(records: pa.Table) -> pa.Table:
    """Give R records that say nothing what the S of their run says.

    So Torque writes them, and PBS Professional before 2016.
    """
    frame = pl.DataFrame(records.select(["job_id", "code", "start_time"]))
    silent = (pl.col("code") == "R") & pl.col("start_time").is_null()
    if not frame.select(silent.any()).item():
        return records
    here = pl.int_range(pl.len())
    before, code = (each.shift(1).over("job_id") for each in (here, pl.col("code")))
    index = frame.select(pl.when(silent & (code == "S")).then(before).otherwise(here)).to_series()
    found = records.take(index.to_arrow())
    for name in ("code", "position"):
        found = found.set_column(found.column_names.index(name), name, records[name])
    return found
