"""Batch jobs on a real Slurm: hostile names, dependencies, commands that are run again."""

import subprocess
import sys

from clusters import eventually

from harvest_cluster.batch import Batch, Job, Options, Script, python

NAMES = ["; rm -rf /", "$(touch PWNED)", "`id`", "two\nlines", "'\"", "-rf", "é日", "a\udce9", ".."]


def test_hostile_names_dependencies_and_status_on_a_real_slurm(on_slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", on_slurm.env["SLURM_CONF"])
    monkeypatch.chdir(tmp_path)
    say = [sys.executable, "-c", "import sys, os; print(ascii(sys.argv[1]), os.environ['WORD'])"]
    options = Options(memory="100M", time="5", env_setup="export WORD='it is set'")
    name = "harvest $(touch PWNED); `touch PWNED`\n-x"
    parts = Job(name=name, commands=[[*say, n] for n in NAMES], options=options, per_task=3)
    after = Job(name="harvest", commands=[["true"]], options=options, after_any=name)
    never = Job(
        name="harvest-commit", commands=[["true"]], options=options, after_ok="harvest-stage"
    )
    broken = Job(name="harvest-stage", commands=[["false"]], options=options)
    batch = Batch(tmp_path / "%j \\ $(touch PWNED) '\"\n#SBATCH -t 0")

    ids = batch.submit(parts, after, broken, never)

    assert len(set(ids)) == 4
    jobs = {job.name: job for job in batch.wait(timeout_s=120)}
    assert jobs[name].counts == {"pending": 0, "running": 0, "done": len(NAMES), "failed": 0}
    logs = sorted(jobs[name].log.iterdir())
    assert [path.name for path in logs] == [f"{ids[0]}_{n}.out" for n in range(3)]
    lines = [line for path in logs for line in path.read_text().splitlines()]
    assert lines == [f"{n!a} it is set" for n in NAMES]
    assert jobs["harvest"].counts["done"] == 1
    assert [c.reason for c in jobs["harvest-stage"].failed] == ["exit code 1"]
    # what can never begin is cancelled
    assert [c.reason for c in jobs["harvest-commit"].failed] == ["its task ended as CANCELLED"]
    assert not list(tmp_path.rglob("PWNED"))

    # and another shell is told the same
    told = subprocess.run(
        python("harvest_cluster.batch", "status", str(batch.directory)),
        capture_output=True, text=True, env=on_slurm.env, check=False,
    )  # fmt: skip
    assert told.returncode == 1
    assert f"(Slurm job {ids[0]}): {len(NAMES)} done" in told.stdout
    assert "command 0 failed" in told.stdout


def test_failed_commands_are_submitted_again_and_others_cancelled(on_slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", on_slurm.env["SLURM_CONF"])
    flag = tmp_path / "flag"
    commands = [["true"], ["test", "-e", str(flag)]]
    batch = Batch(tmp_path / "batch")
    batch.submit(
        Job(name="harvest", commands=commands, options=Options(memory="100M")),
        Job(name="harvest-stage", commands=[["sleep", "600"]], options=Options(memory="100M")),
    )
    eventually(lambda: batch.status()[0].failed and not batch.status()[0].active, "one failed")
    flag.touch()

    again = batch.resubmit("harvest", [c.number for c in batch.status()[0].failed])

    eventually(lambda: batch.status()[0].counts["done"] == 2, "it did better")
    assert batch.status()[0].job_ids[-1] == again
    assert batch.status()[1].active
    batch.cancel()
    (_, sleeping) = batch.wait(timeout_s=60)
    assert [c.state for c in sleeping.commands] == ["failed"]
    assert isinstance(batch.scripts(Job(name="y", commands=[["true"]]))[0], Script)
