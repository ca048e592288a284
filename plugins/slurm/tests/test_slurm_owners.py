"""Each step belongs to the row of the job above it, and to no other run of the same id.

The oracle reads a dump as sacct's format defines it: line by line, a job's row and then its steps.
"""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import read_dump

from harvest import Collected
from harvest_slurm.read import text

REQUEUED = """JobID|JobName|State|Submit|Start|End|Elapsed|AllocCPUS|TotalCPU
7|a|NODE_FAIL|2024-05-01T10:00:00|2024-05-01T10:00:00|2024-05-01T10:01:40|00:01:40|4|00:10.000
7.batch|batch|NODE_FAIL|2024-05-01T10:00:00|2024-05-01T10:00:00|2024-05-01T10:01:40|00:01:40|4|00:10.000
7|a|COMPLETED|2024-05-01T11:00:00|2024-05-01T11:00:00|2024-05-01T21:00:00|10:00:00 h|4|06:00:00
7.batch|batch|COMPLETED|2024-05-01T11:00:00|2024-05-01T11:00:00|2024-05-01T21:00:00|10:00:00|4|06:00:00
"""


def read(dump: str, **config: Any) -> Collected:
    with tempfile.TemporaryDirectory() as folder:
        return read_dump(Path(folder), dump, **config)


def test_steps_of_a_rejected_run_do_not_go_to_the_run_before() -> None:
    # given a job that ran twice, of whose second run the row cannot be read
    found = read(REQUEUED)
    (reject,) = found.rejects
    assert reject.position == 4
    # then the second step has no job, as its own is not there
    assert [row["job_position"] for row in found.rows("slurm.step")] == [2, None]
    assert [row["job_submit_time"] is None for row in found.rows("slurm.step")] == [False, True]


def test_a_filter_leaves_out_the_steps_of_a_rejected_run() -> None:
    # given that the first run passes the filter, and the second cannot be judged
    found = read(REQUEUED, states=("node_fail",))
    assert [row["job_position"] for row in found.rows("slurm.step")] == [2]
    assert found.filtered == {"step of a job that is left out, rejected or not in the input": 1}


# --- any order of jobs, runs, steps and damage, against a plain reader ------------------------

IDS = ["5", "6", "7_1", "7_[2-4]", "8+0", "8+1"]
FIELDS = ["JobID", "State", "Elapsed", "AllocCPUS"]

records = st.lists(
    st.tuples(
        st.sampled_from(IDS),
        st.sampled_from(["", "", ".batch", ".extern", ".0"]),
        st.sampled_from(["good", "good", "good", "bad value", "cut", "blank"]),
    ),
    max_size=25,
)


def lines_of(made: list[tuple[str, str, str]], order: list[str], mark: str) -> list[str]:
    lines = [mark.join(order)]
    for job, step, kind in made:
        elapsed = "10 h" if kind == "bad value" else "00:00:10"
        values = {"JobID": job + step, "State": "FAILED", "Elapsed": elapsed, "AllocCPUS": "4"}
        line = mark.join(values[name] for name in order)
        if kind == "cut":
            line = line.rpartition(mark)[0]
        lines.append("" if kind == "blank" else line)
    return lines


def owners(lines: list[str], mark: str) -> dict[int, int | None]:
    """Position of the job's row of each step that can be read, by the step's position."""
    header = lines[0].split(mark)
    found: dict[int, int | None] = {}
    job: str | None = None  # id of the job whose steps may follow
    place: int | None = None
    for position, line in enumerate(lines[1:], 2):
        fields = line.split(mark)
        whole = len(fields) == len(header)
        if not line:
            continue
        if not whole and header[0] != "JobID":
            job = None  # it may be the row of any job
            continue
        name, _, step = fields[header.index("JobID")].partition(".")
        good = whole and fields[header.index("Elapsed")] == "00:00:10"
        if not step:
            job, place = name, position if good else None
        elif good:
            found[position] = place if name == job else None
    return found


@pytest.mark.slow
@given(
    records,
    st.sampled_from(["|", ";~;", ","]),
    st.sampled_from([FIELDS, [*FIELDS[1:], "JobID"]]),
    st.sampled_from([1, 40, 100, 100_000]),
)
def test_owners_are_those_that_a_plain_reader_finds(
    made: list[tuple[str, str, str]], mark: str, order: list[str], block_bytes: int
) -> None:
    lines = lines_of(made, order, mark)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text.read_text, "__kwdefaults__", {"block_bytes": block_bytes})
        found = read("\n".join(lines) + "\n")
    got = {row["position"]: row["job_position"] for row in found.rows("slurm.step")}
    assert got == owners(lines, mark)
