"""Reads ``sacct --json`` and ``--yaml`` of all versions, one job at a time.

Two values in the JSON of version 23.02 and earlier are wrong and stay empty: exit codes of jobs and
steps that did not complete but read SUCCESS, and CPU times of jobs. The CPU time of a job is the
sum over its steps, as in sacct's tables.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

import orjson
import pyarrow as pa

import harvest
from harvest import ReadContext
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import excerpt
from harvest_toolkit.json_pieces import JsonPieces, Piece

from ..records import Job, Step
from ..rows.selection import Selection
from .json_job import job_row, step_rows

GATHER: Final = 2_000
"""The number of jobs in a batch."""

SHOWN: Final = 20
"""The number of errors, and of warnings, of an input that are repeated in full."""

LONGEST_NOTE: Final = 400
"""The largest number of characters of a repeated error."""


def read_json(
    stream: IO[bytes], selection: Selection, ctx: ReadContext, *, cluster: str | None = None
) -> Iterator[Any]:
    """Return batches of jobs and steps; cluster: the name for those without one.

    Positions number jobs and steps together, in the order of the input. A job that cannot be read
    is one reject, with its steps.
    """
    jobs: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    position = doubtful = 0
    pieces = JsonPieces(stream, "jobs", ("errors", "warnings"), mark="job_id", noun="job")
    for piece in _jobs(pieces, ctx):
        position += 1
        rows = piece if piece.kind == "broken" else _rows(piece.raw, cluster)
        if isinstance(rows, Piece):
            ctx.read(1)
            record_type = None if rows is piece else "slurm.job"
            ctx.reject(rows.raw, rows.reason, position=position, record_type=record_type)
            continue
        ctx.advance(len(piece.raw))
        for place, row in enumerate(rows, start=position):
            row["position"] = place
            doubtful += row.pop("doubtful_exit")
        position += len(rows) - 1
        jobs.append(rows[0])
        steps += rows[1:]
        if len(jobs) >= GATHER:
            yield from _batches(jobs, steps, selection, ctx)
            jobs, steps = [], []
    yield from _batches(jobs, steps, selection, ctx)
    selection.account(ctx)
    if doubtful:
        ctx.note(
            f"{count_in_words(doubtful, 'exit code')} read SUCCESS, but the state says otherwise, "
            "for example in JSON of Slurm 23.02 and before; left empty"
        )


def _jobs(pieces: Iterable[Piece], ctx: ReadContext) -> Iterator[Piece]:
    """Return the jobs among the pieces, and broken pieces; errors without a job are broken, too.

    Errors and warnings of documents become notes.
    """
    units, counts = 0, Counter[str]()
    errors: list[Piece] = []
    for piece in pieces:
        if piece.kind in ("errors", "warnings"):
            word = piece.kind.removesuffix("s")
            sentence = f"{word}: {_sentence(piece.raw)}"
            counts[word] += 1
            if counts[word] <= SHOWN:
                ctx.note(f"sacct says: {sentence}")
            if word == "error":
                errors = [*errors[:SHOWN], Piece("broken", piece.raw, sentence)]
        elif piece.kind == "end":
            if errors and not units:
                said = "; ".join(error.reason for error in errors)
                raw = b"\n".join(error.raw for error in errors)
                yield Piece("broken", raw, f"no job, since sacct says: {said}")
            units, errors = 0, []
        elif piece.kind != "none":
            units += 1
            yield piece
        elif not errors:
            yield Piece("broken", piece.raw, "no array 'jobs' in this JSON")
    for word, count in counts.items():
        if count > SHOWN:
            ctx.note(f"sacct says: {count_in_words(count - SHOWN, f'more {word}')}")


def _sentence(raw: bytes) -> str:
    try:
        said = orjson.loads(raw)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return excerpt(raw.decode("utf-8", "replace"), LONGEST_NOTE)
    words = [said.get(key) for key in ("description", "error")]
    text = ": ".join(word for word in words if isinstance(word, str) and word)
    numbers = [said.get(key) for key in ("error_number", "errno", "source")]
    more = ", ".join(str(item) for item in numbers if isinstance(item, (int, str)) and item)
    return excerpt(f"{text} ({more})" if text and more else text or raw.decode(), LONGEST_NOTE)


def _rows(item: bytes, cluster: str | None) -> list[dict[str, Any]] | Piece:
    try:
        data = orjson.loads(item)
        job = job_row(data)
        job["cluster"] = job["cluster"] or cluster
        return [job, *step_rows(data, job)]
    except KeyError as error:
        return Piece("broken", item, f"no {error.args[0]!r} in this job; is it the JSON of sacct?")
    except (ValueError, RecursionError, orjson.JSONEncodeError) as error:
        return Piece("broken", item, f"not a job as sacct --json prints it: {error}")


def _batches(
    jobs: list[dict[str, Any]], steps: list[dict[str, Any]], selection: Selection, ctx: ReadContext
) -> Iterator[Any]:
    if not jobs:
        return
    ctx.read(len(jobs) + len(steps))
    kept, decided = selection.jobs(_table(Job, jobs))
    yield Job, kept
    mine = selection.steps(_table(Step, steps), decided)
    if steps:
        yield Step, mine


def _table(cls: type[harvest.Record], rows: list[dict[str, Any]]) -> pa.Table:
    given = [
        column
        for column in harvest.record_type(cls).arrow_schema
        if column.name not in ("origin", "job_position", "job_submit_time")
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(given))
