"""Long work shows on a terminal what it is at, and nowhere else."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import harvest
from harvest.toolkit.steps import step, watched


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    """A job."""
    folder = tmp_path_factory.mktemp("steps")
    (folder / "sacct.txt").write_text(
        "JobID|State|User|Submit|Start\n1|COMPLETED|ada|2026-01-01T00:00:00|2026-01-01T00:01:00\n"
    )
    harvest.run([f"slurm:{folder / 'sacct.txt'}"], f"parquet:{folder / 'out'}", workers=1,
                settings={"slurm": {"timezone": "UTC"}})  # fmt: skip
    return folder / "out"


def seen_on_a_terminal(*words: object) -> str:
    """What ``harvest WORDS...`` writes to standard error where that is a terminal."""
    theirs, ours = pty.openpty()[::-1]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(
        [sys.executable, "-m", "harvest", *map(str, words)],
        stdout=subprocess.DEVNULL, stderr=theirs, env=environment,
    ) as process:  # fmt: skip
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 4096):
                text += piece
        except OSError:  # Linux says so where the other side is closed
            pass
        finally:
            os.close(ours)
    assert process.returncode == 0
    return text.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("report", "slurm.summary", "@"), "building slurm.summary"),
        (("findings", "@"), "looking for findings: "),
        (("view", "slurm.jobs", "@"), "building slurm.jobs"),
    ],
)
def test_a_terminal_shows_what_long_work_is_at_and_the_line_goes(dataset, words, line):
    words = [dataset if word == "@" else word for word in words]

    written = seen_on_a_terminal(*words)

    assert line in written
    assert "\x1b[2K" in written.rpartition(line)[2], "the line is not taken away"


@pytest.mark.slow
def test_a_report_says_what_it_reads_and_draws(dataset, tmp_path):
    steps: list[str] = []
    with watched(steps.append):
        harvest.open(dataset).report("slurm.queue_time").write(tmp_path / "page")
    assert {"report slurm.queue_time", "view slurm.queue_time", "reading slurm.job"} <= set(steps)
    assert steps.index("drawing How long jobs waited") > steps.index("reading slurm.job")

    step("nobody watches any more")
    assert steps[-1] != "nobody watches any more"
