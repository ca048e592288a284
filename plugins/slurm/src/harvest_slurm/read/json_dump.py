"""``sacct --json`` of all generations, as records, one job at a time however large the file is.

21.08 and 22.05 print plain numbers; 23.02 prints ``{"set", "infinite", "number"}``; 23.11 prints
lists for states and exit status; later versions do so in the times of steps too.  Every accessor
of ``json_job`` takes any of them.

Two things in the JSON of 22.05 and before are wrong, and are left empty: exit codes of jobs and
steps that did not complete but read SUCCESS, and CPU times of jobs (the sum of the steps' is
taken, as sacct does in its tables).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any, Final

import attrs
import orjson
import pyarrow as pa

import harvest
from harvest import ReadContext

from ..records import Job, Step
from ..rows.selection import Selection
from .json_job import job_row, step_rows

GATHER: Final = 2_000
"""Jobs that make a batch."""

BLOCK_BYTES: Final = 4 * 1024 * 1024

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a job with its steps, at most."""

_SHOWN: Final = 64 * 1024

_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]|[^"{}\[\]]+', re.DOTALL)

TOO_LONG: Final = f"longer than {LONGEST} bytes; what follows in the file is not read"
NO_OBJECT: Final = "an element of 'jobs' that is not an object"


@attrs.frozen
class Broken:
    """What the file ends with where it ends too early, or what is wrong with it."""

    raw: bytes
    reason: str


def read_json(
    stream: IO[bytes], selection: Selection, ctx: ReadContext, *, cluster: str | None = None
) -> Iterator[Any]:
    """Batches of jobs and steps; those without a cluster's name get the one given.

    Positions number jobs and steps together, in their order in the file.  A job that cannot be
    read is one reject, with its steps.
    """
    jobs: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    position = 0
    doubtful = 0
    for item in split_jobs(stream):
        position += 1
        if not isinstance(item, Broken):
            ctx.advance(len(item))
        rows = item if isinstance(item, Broken) else _rows(item, cluster)
        if isinstance(rows, Broken):
            ctx.read(1)
            record_type = None if rows is item else "slurm.job"
            ctx.reject(rows.raw, rows.reason, position=position, record_type=record_type)
            continue
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
            f"{doubtful} exit codes read SUCCESS although the state says otherwise, as JSON of "
            "Slurm 22.05 and before does; they are left empty"
        )


def _rows(item: bytes, cluster: str | None) -> list[dict[str, Any]] | Broken:
    """The row of a job and those of its steps."""
    try:
        data = orjson.loads(item)
        job = job_row(data)
        job["cluster"] = job["cluster"] or cluster
        return [job, *step_rows(data, job)]
    except KeyError as error:
        return Broken(item, f"no {error.args[0]!r} in this job; is it the JSON of sacct?")
    except (
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        return Broken(item, f"not a job as sacct --json prints it: {error}")


def _batches(
    jobs: list[dict[str, Any]], steps: list[dict[str, Any]], selection: Selection, ctx: ReadContext
) -> Iterator[Any]:
    if not jobs:
        return
    ctx.read(len(jobs) + len(steps))
    decided = selection.jobs(_table(Job, jobs))
    yield Job, decided.kept
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


def split_jobs(stream: IO[bytes]) -> Iterator[bytes | Broken]:
    """The elements of the top-level array ``jobs``, as bytes; of type Broken if not objects.

    A file that ends inside of the array, or that has none, gives a last item of type Broken.
    """
    buffer = b""
    place = keep = 0  # up to here the buffer is read; from here it is needed
    start = -1  # where the current job begins
    depth = 0
    inside = False  # of the array
    found = False
    key = b""
    at_end = False
    while not at_end:
        more = stream.read(BLOCK_BYTES)
        at_end = not more
        buffer, place = buffer[keep:] + more, place - keep
        start = 0 if start >= 0 else -1
        for token in _TOKEN.finditer(buffer, place):
            text = token[0]
            if token.start() != place:
                break  # a text that is not closed yet
            if token.end() == len(buffer) and not at_end and text[:1] != b"}":
                break  # it may go on in the next block
            place = token.end()
            if inside and depth == 2 and text not in (b"{", b"[", b"]", b"}"):
                yield from _no_objects(text)
            if text[:1] == b'"':
                key = text if depth == 1 else key
            elif text in (b"{", b"["):
                if inside and depth == 2:
                    start = token.start()
                elif depth == 1 and text == b"[" and key == b'"jobs"':
                    inside = found = True
                depth += 1
            elif text in (b"}", b"]"):
                depth -= 1
                if inside and depth == 2 and start >= 0:
                    element = buffer[start:place]
                    yield element if element[:1] == b"{" else Broken(element, NO_OBJECT)
                    start = -1
                elif depth == 1:
                    inside = False
                elif depth == 0:
                    yield from _behind(buffer, place, stream, found=found)
                    return
        keep = start if start >= 0 else place
        if len(buffer) - keep > LONGEST:
            yield Broken(buffer[keep : keep + _SHOWN], TOO_LONG)
            return
    yield _cut_off(buffer, place, start)


def _cut_off(buffer: bytes, place: int, start: int) -> Broken:
    """What the file ends with.  start: where the job in which it ends begins, -1 outside of one."""
    if start >= 0:
        return Broken(buffer[start:], "the file ends inside this job")
    return Broken(buffer[max(0, place - 200) :], "the file ends before its JSON does")


def _behind(buffer: bytes, place: int, stream: IO[bytes], *, found: bool) -> Iterator[Broken]:
    """What is wrong where the document ends.  found: whether it had the array."""
    rest = buffer[place:].lstrip()
    while not rest and (block := stream.read(BLOCK_BYTES)):
        rest = block.lstrip()
    if rest:
        more = stream.read(max(0, _SHOWN - len(rest)))
        yield Broken((rest + more)[:_SHOWN], "text after the end of the JSON document")
    if not found:
        yield Broken(buffer[:200], "no array 'jobs' in this JSON")


def _no_objects(text: bytes) -> Iterator[Broken]:
    """The elements in a piece of the array that is a string, or all else but brackets."""
    pieces = [text] if text[:1] == b'"' else text.split(b",")
    for piece in pieces:
        if piece.strip():
            yield Broken(piece.strip(), NO_OBJECT)
