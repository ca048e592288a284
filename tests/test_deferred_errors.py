"""Rows are read while a query runs: what is wrong with them then is told as always.

Older versions of polars, and DuckDB, wrap what stops such reading in an error of their own.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import harvest_here
from datasets import Small, dump

import harvest
from harvest.errors import error_within

COMMANDS = {
    "view": ("view", "events"),
    "view to a file": ("view", "events", "-o", "rows.csv"),
    "query": ("query", 'SELECT * FROM "slurm.job"'),
}


@pytest.mark.parametrize("form", ["jsonl", "file"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_file_is_a_plain_error(tmp_path: Path, form: str, command: str) -> None:
    # given a dataset whose file ends too early
    small = Small(tmp_path, form).write(a=dump(*range(50)))
    small.harvest()
    (file,) = small.files()
    file.write_bytes(file.read_bytes()[:-100])

    # then a command that meets it while it reads says so in a line, with exit code 1
    name, first, *rest = COMMANDS[command]
    arguments = [small.location, first] if name == "query" else [first, small.location, *rest]
    done = harvest_here(name, *arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "the file ends" in done.stderr
    assert str(file) in done.stderr
    assert "unexpected" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "exception" not in done.stderr


def test_an_error_that_repeats_none_of_ours_stays_what_it_is() -> None:
    assert error_within(ValueError("ComputeError: no such column: x")) is None
    told = error_within(ValueError("caught, exception: UsageError: a: b; c"))
    assert isinstance(told, harvest.UsageError)
    assert str(told) == "a: b; c"
