"""Configuration of a run, nested: JSON where the first byte is even, YAML where it is odd."""

from random import Random

from harvest_mofka_dask.source import MofkaDaskSource

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_json, change_lines
from . import Target

YAML = (
    "a: 1\nb: [x, {c: d}]\n---\ne: !!timestamp 2001-12-14t21:59:43.10-05:00\n",
    "a: &a {x: 1}\nb: {<<: *a, y: 0x1F}\nc: !!binary aGk=\nd: !!set {a, b}\n",
    "a: !!int ''\n", "a: !!float ''\n", "a: !!bool x\n", "a: !!timestamp x\n", "a: 1:59:59.5\n",
    "? [a, b]\n: c\n", "a: |\n  text\n  more\nb: >-\n  folded\n", "!!python/object:os.system x\n",
    '"\\ud800": "\\x07"\n', "a: 0x" + "f" * 60 + "\n", "a: *b\n", "!!omap [a: 1]\n", "%YAML 1.1\n",
)  # fmt: skip


def run(data: bytes) -> None:
    """Flatten a document into settings; a damaged one is one reject."""
    first, body = (data[0], data[1:]) if data else (0, b"")
    path = write("dask.yaml" if first % 2 else "config.json", body)
    found = check_source(MofkaDaskSource(str(path)))
    if found is not None and body.strip():
        require(found.written or found.rejects or found.notes, "neither rows, reject nor note")


def make_seeds() -> list[bytes]:
    """The example run's files, and what YAML may hold beside."""
    files = seeds.dask_run()
    nested = b"[" * 120 + b"]" * 120
    return [
        b"\0" + files["config.json"],
        b"\1" + files["distributed.yaml"],
        *(b"\1" + text.encode() for text in YAML),
        b"\0" + nested,
        b'\0{"a": {"b": [1, 2.5, null, true, ""], "a": {}}, "a": "\\u00e9\\ud800"}',
    ]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of a JSON value, or of lines; the first byte stays."""
    change = change_lines(data[1:], random, b": ") if data[:1] > b"\0" else None
    return data[:1] + (change_json(data[1:], random) if change is None else change)


TARGET = Target(
    name="mofka_settings",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=4096,
)
