"""Capture files; a JSON list stands for the frames' contents, other bytes are the file itself."""

import json
from random import Random
from typing import Any

from harvest_dask.records.captures import reader
from harvest_dask.records.captures.source import DaskSource

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_json
from . import Target

captures: Any = seeds.load_module("tests/support/captures.py")


def run(data: bytes) -> None:
    """Read a file whole, and with each frame's rows by themselves."""
    source = DaskSource(str(write("worker-x.cap", _file(data))))
    found = check_source(source)
    usual, reader.GATHERED_ROWS = reader.GATHERED_ROWS, 1
    try:
        apart = check_source(source)
    finally:
        reader.GATHERED_ROWS = usual
    require(found is not None and apart is not None, "a file that is there was refused")
    assert found is not None
    assert apart is not None
    require(
        (found.units, found.written) == (apart.units, apart.written), "other units or rows apart"
    )


def _file(data: bytes) -> bytes:
    try:
        contents = json.loads(data)
    except (ValueError, RecursionError):
        return data
    try:
        made: bytes = captures.frames(contents if isinstance(contents, list) else [contents])
    except (ValueError, OverflowError, RecursionError):  # what msgpack has no type for
        return data
    return made


def make_seeds() -> list[bytes]:
    """The example of the tests, as contents and as files."""
    files = captures.example().values()
    return [*(json.dumps(file).encode() for file in files), *map(captures.frames, files)]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of one value where the input is a list of contents; else of one byte."""
    if data[:1] in b"[{":
        return change_json(data, random)
    place = random.randrange(len(data) + 1)
    return data[:place] + bytes([random.randrange(256)]) + data[place + random.randrange(2) :]


TARGET = Target(
    name="dask_capture",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=8192,
)
