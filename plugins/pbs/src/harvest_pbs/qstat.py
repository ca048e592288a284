"""Reads JSON of ``qstat -x -f -F json`` one job at a time: a row of ``pbs.job`` each.

A live server answers for the jobs that it still knows. ``-x`` includes finished jobs as long as the
server keeps their history (``job_history_duration``, two weeks by default; none unless
``job_history_enable`` is set).

The document is an object whose member ``Jobs`` has a member per job, named by its id. Some versions
write backslashes, numbers (``007``) and environment variables (``Variable_List``) that break JSON;
such a job is read with quoted numbers and without the others. The environment of a job is never
kept, since it may hold passwords.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final, NamedTuple

import pyarrow as pa

from harvest import Partition, ReadContext
from harvest.toolkit.texts import not_utf8
from harvest_toolkit.line_blocks import Faults
from harvest_toolkit.programs import run_program
from harvest_toolkit.spans import spans
from harvest_toolkit.values import EPOCH, LocalTimes

from .jobs import job_table
from .records import Job
from .scalar import KNOWN, SCHEMA, raw_row
from .states import DELETED, FINISHED, QSTAT_STATES

GATHER: Final = 2_000
"""The number of jobs in a batch."""
BLOCK_BYTES: Final = 1 << 20
LONGEST: Final = 16 << 20
"""The largest size of a job in bytes."""
_SHOWN: Final = 64 * 1024

_BEGIN: Final = re.compile(rb'"(\d+(?:\[[\d-]*\])?\.[^"\s\\]+)"\s*:\s*(?=\{)')
_HEAD: Final = r'\s*\{[^{}]*"Jobs"\s*:\s*\{\s*'
_FIRST: Final = re.compile(_HEAD)
_NEXT: Final = re.compile(rf"\s*,\s*|\s*\}}\s*\}}{_HEAD}")
_LAST: Final = re.compile(r"\s*\}\s*\}\s*")
_ENVIRONMENT: Final = re.compile(
    r'"Variable_List"\s*:\s*\{\n(?:(?:[^\S\n]|[{}])*[^\n\s{}][^\n]*\n)*?\s*\},?'
)
_BACKSLASH: Final = re.compile(r'\\(["\\/bfnrtu])|\\')
_BARE: Final = re.compile(r'(?<!\\)("\s*:\s*)([-+.\w]+)(?=\s*[,}])')
# names that look like numbers, 1e5 or 1.10, stay as they are
_DECODER: Final = json.JSONDecoder(strict=False, parse_float=str, parse_int=str, parse_constant=str)
TOO_LONG: Final = f"a job of more than {LONGEST} bytes; the rest is not read"
EARLY: Final = "the JSON ends before its last bracket"

_NAMED: Final = """Job_Name:jobname Job_Owner:owner euser:user egroup:group Account_Name:account
    array_indices_submitted:array_indices stime:start reserve_ID:resvID"""
_NAMES: Final = dict(pair.split(":") for pair in _NAMED.split())
"""Attributes of qstat -> keys of records."""
_TIMES: Final = {key: column for key, (column, kind) in KNOWN.items() if kind == EPOCH}
_SCHEMA: Final = pa.schema(
    [
        *SCHEMA,
        *((name, pa.string()) for name in ("job_id", "code", "state", "reason")),
        ("position", pa.int64()),
    ]
)
_TIME: Final = "%a %b %d %H:%M:%S %Y"


class Piece(NamedTuple):
    """A job with its id and JSON; or text that is not a job, with the reason."""

    job_id: str
    raw: bytes
    reason: str = ""
    data: dict[str, Any] | None = None


def read_live(
    partition: Partition, program: str, timeout_s: int, ctx: ReadContext
) -> Iterator[Any]:
    """Return batches of the jobs that the server knows; qstat prints times in UTC."""
    output = run_program(
        [program, "-x", "-f", "-F", "json"],
        ctx,
        where="pbs:live",
        env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"},
        missing="run this where PBS is installed, set pbs.qstat to its path, or harvest accounting "
        "logs",
        failed="check that the server answers: qstat -B",
        timeout_s=timeout_s,
        slow="set pbs.timeout_s to more seconds, or check the server: qstat -B",
    )
    with output.open("rb") as stream:
        yield from read_qstat(stream, "UTC", partition, ctx)


def read_qstat(
    stream: IO[bytes], zone: str | None, partition: Partition, ctx: ReadContext
) -> Iterator[Any]:
    """Return batches of jobs; zone: of the times in the document."""
    clock = LocalTimes(_TIME, zone, "pbs.timezone")
    ctx.read(0)
    rows: list[dict[str, Any]] = []
    for position, piece in enumerate(_pieces(stream), 1):
        ctx.read(1)
        ctx.advance(len(piece.raw))
        if piece.data is None:
            ctx.reject(piece.raw, piece.reason, position=position, record_type="pbs.job")
        else:
            rows.append({**_row(piece.job_id, piece.data), "position": position})
        if len(rows) == GATHER:
            yield Job, _table(rows, clock)
            rows = []
    if rows:
        yield Job, _table(rows, clock)
    clock.note(ctx, partition)


def _pieces(stream: IO[bytes]) -> Iterator[Piece]:
    buffer, job_id, between = b"", "", _FIRST
    at_end = False
    while not at_end:
        block = stream.read(BLOCK_BYTES)
        at_end = not block
        buffer += block
        start = 0
        for begin in _BEGIN.finditer(buffer):
            yield from _checked(job_id, buffer[start : begin.start()], between)
            job_id, start, between = begin[1].decode("utf-8", "replace"), begin.end(), _NEXT
        buffer = buffer[start:]
        if len(buffer) > LONGEST:
            yield Piece("", buffer[:_SHOWN], TOO_LONG)
            return
    if job_id or not _is_empty(buffer):
        yield from _checked(job_id, buffer, _LAST)


def _is_empty(document: bytes) -> bool:
    try:
        found = json.loads(document) if document.strip() else {}
    except ValueError:
        return False
    return isinstance(found, dict) and not found.get("Jobs")


def _checked(job_id: str, raw: bytes, between: re.Pattern[str]) -> Iterator[Piece]:
    """Return a job, and the text behind it if that is not the expected one."""
    if not job_id:
        if not between.fullmatch(raw.decode("utf-8", "replace")):
            yield Piece("", raw, "no JSON of qstat's jobs")
        return
    if reason := not_utf8(raw):
        yield Piece(job_id, raw, reason)
        return
    text = raw.decode()
    try:
        data, end = _decoded(text)
    except (ValueError, RecursionError) as error:
        mended = _mended(text)
        reason = "" if mended else f"job {job_id} is not JSON: {error}"
        yield Piece(job_id, raw, reason, mended)
        return
    yield Piece(job_id, text[:end].encode(), "", data)
    if not between.fullmatch(text, end):
        rest = text[end:].strip()
        reason = EARLY if between is _LAST and not rest.strip("} \n\t") else "text between jobs"
        yield Piece("", rest.encode(), reason)


def _mended(text: str) -> dict[str, Any] | None:
    """Parse a job without its environment and what JSON does not allow: backslashes, numbers."""
    text = _BACKSLASH.sub(lambda found: found[0] if found[1] else "", text)
    try:
        return _decoded(_BARE.sub(r'\1"\2"', _ENVIRONMENT.sub("", text)))[0]
    except (ValueError, RecursionError):
        return None


def _decoded(text: str) -> tuple[dict[str, Any], int]:
    """Return the object at the beginning of a text, and where it ends.

    Raises ValueError for other text, and for half a character (``\\ud83d``).
    """
    data, end = _DECODER.raw_decode(text)
    json.dumps(data, ensure_ascii=False).encode()
    return data, end


def _row(job_id: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of ``SCHEMA``, with times as texts, and ``state`` and ``reason``."""
    pairs: dict[str, str] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            within = {} if name == "Variable_List" else value
            pairs |= {f"{name}.{key}": _text(each) for key, each in within.items()}
        else:
            pairs[_NAMES.get(name, name)] = _text(value)
    letter = pairs.get("job_state", "")
    if letter in FINISHED:
        pairs["end"] = pairs.get("obittime") or pairs.get("mtime", "")
    if "owner" in pairs:
        pairs.setdefault("user", pairs["owner"].partition("@")[0])
    times = {name: pairs.pop(name) for name in _TIMES if name in pairs}
    deleted = letter in FINISHED and pairs.get("substate") == DELETED
    state = "cancelled" if deleted else QSTAT_STATES.get(letter)
    reason = pairs.pop("comment", None)
    return {**raw_row(pairs), "times": times, "job_id": job_id, "state": state, "reason": reason}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table(rows: list[dict[str, Any]], clock: LocalTimes) -> pa.Table:
    for key, column in _TIMES.items():
        texts = [row["times"].get(key, "") for row in rows]
        # days below 10 are padded with a blank
        padded = pa.array(text.replace("  ", " 0") for text in texts)
        read = clock.read(spans(padded), Faults()).to_pylist()
        for row, text, time in zip(rows, texts, read, strict=True):
            row[column] = time
            if text and time is None:
                row["extra"] = [*(row["extra"] or ()), (key, text)]
    raw = pa.Table.from_pylist(rows, _SCHEMA)
    return job_table(raw).append_column("reason", raw["reason"])
