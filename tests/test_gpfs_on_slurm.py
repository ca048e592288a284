"""Policy lists on a real Slurm: split, convert and aggregate as batch jobs, with tasks lost.

The jobs' tasks wait at their beginning for a file, so that one can be killed and one requeued while
they are at work.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import Harvest, eventually, rows_files

pytest.importorskip("harvest_gpfs")

pytestmark = pytest.mark.slow

LINE = (
    "{n} 65537 0  |size={size}|kballoc={kb}|access=2026-01-0{day} 00:00:00"
    "|modify=2025-12-0{day} 00:00:00|uid={uid}|gid=100|pool=data|misc=FAu| -- {path}\n"
)


def listed(path: Path, count: int) -> Path:
    chance = random.Random(5)
    with path.open("w") as file:
        for n in range(1, count + 1):
            file.write(
                LINE.format(
                    n=n,
                    size=chance.randrange(10**9),
                    kb=chance.randrange(10**6),
                    day=chance.randrange(1, 10),
                    uid=1000 + chance.randrange(20),
                    path=f"/data/project{chance.randrange(6)}/run {n % 97}/file_{n}",
                )
            )
    return path


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Tasks wait until this file is there."""
    return tmp_path / "go on"


def setup(gate: Path) -> str:
    return f"--env-setup=while [ ! -e '{gate}' ]; do sleep 0.1; done"


def running(here: Harvest, name: str) -> Callable[[], dict[int, str]]:
    """Number and job id of the array tasks of a job that run."""

    def ask() -> dict[int, str]:
        out = here.slurm("squeue", "-h", "-r", "-t", "running", "-n", name, "-o", "%K %A %F_%K")
        rows = [line.split() for line in out.splitlines()]
        return {int(task): array for task, _, array in rows if task.isdigit()}

    return ask


def lose_two(here: Harvest, name: str, gate: Path) -> None:
    """Kill a task of an array and have another one begun again, then let all go on."""
    tasks = eventually(lambda: len(running(here, name)()) >= 3 and running(here, name)(), name)
    killed, again = sorted(tasks)[1:3]
    here.slurm("scancel", "--signal=KILL", "--full", tasks[killed])
    here.slurm("scontrol", "requeue", tasks[again])
    gate.touch()


@pytest.mark.slow(night=True)
def test_a_whole_pipeline_with_tasks_killed_and_requeued(
    on_slurm: Harvest, tmp_path: Path, gate: Path
) -> None:
    here = on_slurm
    path = listed(tmp_path / "scan-20260111 'of' $(all).list", 4_000)
    local, batch = tmp_path / "local", tmp_path / "batch"

    # given the parts, the dataset and the table of a run in one process
    here.run("gpfs", "split", path, local / "parts", "-n", 4)
    here.run("gpfs", "convert", local / "parts", "-t", local / "out")
    here.run("gpfs", "aggregate", local / "out", "-t", local / "use.csv", "--by", "uid,top")

    # when jobs split the list, one killed and one requeued
    split = here.start("gpfs", "split", path, batch / "parts", "-n", 4, "--submit", setup(gate))
    lose_two(here, "split", gate)
    told = here.end(split)
    assert "harvest gpfs status" in told
    assert rows_files(batch / "parts").keys() >= rows_files(local / "parts").keys() - {
        f".{path.name}.split.json"
    }
    for part in sorted((local / "parts").glob("scan*")):
        assert (batch / "parts" / part.name).read_bytes() == part.read_bytes()
    status = here.run("gpfs", "status", batch / "parts", code=1)  # one task was killed
    assert "3 done, 1 failed" in status

    # and convert the parts, one killed and one requeued
    gate.unlink()
    converted = here.start(
        "gpfs", "convert", batch / "parts", "-t", batch / "out", "--submit", setup(gate),
        "--per-task", 1,
    )  # fmt: skip
    lose_two(here, "harvest-stage", gate)
    assert "4,000 rows, 0 rejects" in here.end(converted)

    # and aggregate
    here.run(
        "gpfs", "aggregate", batch / "out", "-t", batch / "use.csv", "--by", "uid,top", "--submit"
    )

    # then nothing differs but where the lists lie
    assert (batch / "use.csv").read_bytes() == (local / "use.csv").read_bytes()
    ours, theirs = (here.run("verify", each / "out") for each in (local, batch))
    assert "no problems" in ours
    assert "no problems" in theirs
    query = "select inode, path, size_bytes, position from gpfs.file order by inode"
    rows = [
        here.run("query", each / "out", query, "--json").splitlines() for each in (local, batch)
    ]
    assert len(rows[0]) == 4_000
    assert rows[0] == rows[1]


def test_detached_jobs_are_followed_from_another_shell(on_slurm: Harvest, tmp_path: Path) -> None:
    here = on_slurm
    path = listed(tmp_path / "scan-20260111.list", 500)
    here.run("gpfs", "convert", path, "-t", tmp_path / "out", "--submit", "--detach")

    eventually(lambda: not here.slurm("squeue", "-h", "-n", "harvest-commit"), "the last job")

    told = here.run("gpfs", "status", tmp_path / "out")
    assert "harvest-commit" in told
    assert "pending" not in told
    assert "running" not in told
    assert "500 rows" in here.run("verify", tmp_path / "out")
