"""``sacct --json`` of three generations; the input is the whole file."""

import json
from typing import Any

from harvest_slurm.config import SlurmConfig
from harvest_slurm.source import SlurmSource
from harvest_toolkit import json_pieces

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_json
from . import Target

GENERATIONS = ("plain", "structs", "lists")


def run(data: bytes) -> None:
    """Read the jobs whole, and from small blocks."""
    path = write("jobs.json", data)
    source = SlurmSource(str(path), SlurmConfig())
    found = check_source(source)
    if found is None:
        return
    usual, json_pieces.BLOCK_BYTES = json_pieces.BLOCK_BYTES, 700
    try:
        cut = check_source(source)
    finally:
        json_pieces.BLOCK_BYTES = usual
    require(
        cut is not None and (cut.units, cut.written) == (found.units, found.written),
        "other units or rows in small blocks",
    )


def make_seeds() -> list[bytes]:
    """Jobs as the tests build them."""
    make: Any = seeds.load_module("plugins/slurm/tests/test_slurm_json.py").make_job
    made = []
    for generation in GENERATIONS:
        jobs = [make(7, generation), make(8, generation, state="PENDING", steps=[])]
        document = {"meta": {}, "jobs": jobs, "errors": []}
        made += [json.dumps(document, indent=indent).encode() for indent in (None, 1)]
    return made


TARGET = Target(
    name="slurm_json",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=change_json,
    max_bytes=16384,
)
