"""A Dask cluster of Slurm jobs, captured by its scheduler's preload, and joined to its jobs.

The script that uses the cluster knows nothing of the capture: Dask's configuration does it all.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import Harvest, eventually

pytest.importorskip("harvest_dask")
pytest.importorskip("harvest_slurm")

pytestmark = pytest.mark.slow(night=True)

SCRIPT = """
import sys
import time

from dask_jobqueue import SLURMCluster
from distributed import Client


def square(x):
    return x * x


if __name__ == "__main__":
    with SLURMCluster(
        cores=1,
        processes=1,
        memory="500MB",
        walltime="00:10:00",
        job_name="harvest",
        python=sys.executable,
        scheduler_options={"host": "127.0.0.1", "dashboard_address": None},
    ) as cluster:
        cluster.scale(jobs=2)
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=120)
            print(sum(client.gather(client.map(square, range(40)))))
            time.sleep(3)  # the jobs are killed next: what is older than a second is on disk
"""

JOINED = """
select p.address, j.job_id, j.name, j.state
from dask.process p
join run.environment e on e.process = p.process and e.name = 'SLURM_JOB_ID'
join slurm.job j on j.job_id_raw = cast(e.value as bigint)
where p.role = 'worker'
"""


def test_a_slurm_cluster_is_captured_without_a_change_of_its_script(
    on_slurm: Harvest, tmp_path: Path
) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    # given a script that computes with two Slurm jobs, and a preload in Dask's configuration
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    capture = tmp_path / "runs" / "R1"
    asked = {
        "DASK_DISTRIBUTED__SCHEDULER__PRELOAD": '["harvest_dask"]',
        "DASK_HARVEST__CAPTURE__DIRECTORY": str(capture),
    }

    # when it runs
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=on_slurm.env | asked, text=True,
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(sum(x * x for x in range(40)))]

    # then the capture and the accounting of the cluster, once it knows both jobs, are one dataset
    def ended() -> bool:
        words = on_slurm.slurm("sacct", "-n", "-X", "-P", "--name", "harvest", "-o", "State,End")
        lines = words.split("\n")[:-1]
        return len(lines) >= 2 and not any("Unknown" in line for line in lines)

    eventually(ended, "the accounting knows that both jobs have ended")
    out = tmp_path / "out"
    on_slurm.run("run", "-s", f"dask:{capture}", "-s", "slurm:live", "-k", f"parquet:{out}")

    def ask(sql: str) -> list[dict[str, object]]:
        lines = on_slurm.run("query", out, sql, "--json").splitlines()
        return [json.loads(line) for line in lines]

    # each worker is one job of that name, and both have ended
    rows = ask(JOINED)
    assert len({row["address"] for row in rows}) == len({row["job_id"] for row in rows}) == 2
    assert {row["name"] for row in rows} == {"harvest"}
    # and every task was executed once
    (executed,) = ask(
        "select count(*) as n, count(distinct key) as keys from dask.task_transition "
        "where start_state = 'processing' and finish_state = 'memory'"
    )
    assert (executed["n"], executed["keys"]) == (40, 40)
