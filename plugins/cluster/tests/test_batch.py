"""Batch jobs: what their scripts hold, what a task does, how far they are told to be."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from eventually import eventually
from hypothesis import example, given
from hypothesis import strategies as st

from harvest import UsageError
from harvest_cluster.batch import Batch, CommandStatus, Job, Options, python
from harvest_cluster.batch import batch as batch_module
from harvest_cluster.batch.files import JOB, STATE, SUBMITTED, write
from harvest_cluster.batch.job import render, safe_name
from harvest_cluster.batch.slurm import SlurmError, TaskState
from harvest_cluster.batch.status import JobFiles, job_status

NAMES = ["; rm -rf /", "$(touch PWNED)", "`id`", "two\nlines", "'\"", "-rf", "é日", "a\udce9", ".."]
hostile = st.one_of(
    st.sampled_from(NAMES), st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=30)
)


# --- what a script holds


def test_a_script_shows_what_will_happen():
    job = Job(
        name="convert",
        commands=[["convert", "a b"], ["convert", "c"]],
        options=Options(
            partition="cpu", account="m1", time="1-02:30:00", memory="4G", cpus=2,
            env_setup="module load python", extra=["--qos=debug", "--constraint=cpu&nvme"],
        ),
        array_limit=5,
        after_ok=["split"],
    )  # fmt: skip
    first = Job(name="split", commands=[["split"]])

    _, script = Batch("/data/out").scripts(first, job)

    assert script.text == (
        "#!/bin/bash\n"
        "#SBATCH --job-name=convert\n"
        "#SBATCH --output=log/%A_%a.out\n"
        "#SBATCH --open-mode=append\n"
        "#SBATCH --requeue\n"
        "#SBATCH --array=0-1%5\n"
        "#SBATCH --partition=cpu\n"
        "#SBATCH --account=m1\n"
        "#SBATCH --time=1-02:30:00\n"
        "#SBATCH --mem=4G\n"
        "#SBATCH --cpus-per-task=2\n"
        "#SBATCH --qos=debug\n"
        "#SBATCH --constraint=cpu&nvme\n"
        "\n"
        "batch_directory=$PWD\n"
        "module load python\n"
        f"exec {shlex.quote(sys.executable)} -P -m harvest_cluster.batch.element "
        '"$batch_directory"\n'
    )
    assert script.submit == (
        "sbatch --parsable --chdir=/data/out/convert '--dependency=afterok:<split>' "
        "/data/out/convert/script.sh"
    )
    assert script.commands == ("convert 'a b'", "convert c")
    assert "#   convert 'a b'" in str(script)
    assert not Path("/data").exists(), "a dry run writes nothing"


@pytest.mark.slow
@given(name=hostile, words=st.lists(hostile, min_size=1, max_size=3), place=hostile)
def test_nothing_of_names_paths_and_commands_is_in_a_script(name, words, place):
    plain = render(Job(name="n", commands=[["true"]]), Path("/somewhere"))
    script = render(Job(name=name, commands=[words]), Path("/data") / place)

    # but the name, made safe, and where the output goes
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", safe_name(name))
    expected = plain.replace("--job-name=n\n", f"--job-name={safe_name(name)}\n")
    if set("%\\") & set(str(Path("/data") / place)):
        expected = expected.replace("--output=log/%j.out", "--output=/dev/null").replace(
            "$PWD\n",
            "$PWD\ntask=${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}\n"
            'exec >>"log/${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}$task.out" 2>&1\n',
        )
    assert script == expected


@given(hostile, st.lists(hostile, min_size=1, max_size=3))
@example("\ud800", ["\udfff"])  # no byte of a name can make these, a file of settings can
def test_what_a_dry_run_prints_cannot_drive_a_terminal(name, words):
    (script,) = Batch(Path("/data") / name).scripts(Job(name=name, commands=[words]))
    assert all(line.isprintable() for line in str(script).splitlines())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition": "a b"}, "option 'partition'"),
        ({"account": "x\n#SBATCH --uid=0"}, "option 'account'"),
        ({"time": "1h"}, "write minutes, HH:MM:SS or D-HH:MM:SS"),
        ({"memory": "4GB"}, "option 'memory'"),
        ({"cpus": 0}, "option 'cpus'"),
        ({"cpus": True}, "option 'cpus'"),
        ({"env_setup": "a\0b"}, "option 'env_setup'"),
        ({"extra": ["-q debug"]}, "write sbatch options as --name=value"),
        ({"extra": ["--array=1-9"]}, "--array is set by harvest itself"),
    ],
)
def test_an_option_that_does_not_fit_is_a_usage_error(options, message):
    with pytest.raises(UsageError) as caught:
        Options(**options)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("time", ["30", "2:30:00", "10-02:30:00"])
def test_slurms_spellings_of_a_time_are_accepted(time):
    assert f"--time={time}" in Options(time=time).directives()


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"commands": []}, "a job needs a command"),
        ({"commands": ["rm -rf /"]}, "give each command as a sequence of words"),
        ({"commands": [["a\0"]]}, "not a command line"),
        ({"commands": [["a"]] * 1001, "per_task": 1}, "1001 array tasks"),
        ({"commands": [["a"]], "per_task": 0}, "choose per_task"),
        ({"commands": [["a"]], "array_limit": 0}, "lets nothing run"),
    ],
)
def test_a_job_that_cannot_be_is_a_usage_error(job, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        Job(name="x", **job)


def test_many_commands_share_the_tasks_of_an_array():
    job = Job(name="x", commands=[["a"]] * 2_500)
    assert (job.per_task, job.tasks) == (3, 834)


def test_a_job_waits_only_for_one_that_comes_before_it():
    with pytest.raises(UsageError, match="waits for 'b', which does not come before it"):
        Batch("x").scripts(Job(name="a", commands=[["a"]], after_ok="b"))
    with pytest.raises(UsageError, match="two jobs of the batch are called 'a'"):
        Batch("x").scripts(Job(name="a", commands=[["a"]]), Job(name="-a", commands=[["a"]]))


# --- what a task does


def task(
    directory: Path, number: int, module: str = "harvest_cluster.batch.element", **env: str
) -> subprocess.Popen[str]:
    """Start what a script starts, as Slurm would."""
    return subprocess.Popen(
        python(module, str(directory)), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "SLURM_ARRAY_TASK_ID": str(number), **env},
    )  # fmt: skip


def written(directory: Path, job: Job) -> Path:
    (directory / STATE).mkdir(parents=True)
    (directory / "log").mkdir()
    write(directory / JOB, job.document())
    return directory


def state(directory: Path, number: int) -> dict:
    path = directory / STATE / f"{number}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_a_task_runs_its_commands_to_the_letter_and_keeps_how_they_ended(tmp_path):
    say = [sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))"]
    commands = [[*say, *NAMES], ["/no/such/program"], [*say, "third"], [*say, "other task"]]
    cwd = tmp_path / "here; touch PWNED"
    cwd.mkdir()
    job = Job(name="x", commands=commands, per_task=3, cwd=cwd)
    place = written(tmp_path / "job", job)

    out, err = (process := task(place, 0, SLURM_JOB_ID="7")).communicate(timeout=60)

    assert process.returncode == 127, "that of the first that failed"
    assert out.splitlines() == [ascii(NAMES), ascii(["third"])]
    assert "'/no/such/program' cannot be run: " in err
    assert [state(place, n).get("exit_code") for n in range(4)] == [0, 127, 0, None]
    assert state(place, 0)["job_id"] == "7"
    assert list(cwd.iterdir()) == []


def test_a_task_that_begins_again_repeats_only_what_did_not_end_well(tmp_path):
    log = tmp_path / "log.txt"
    commands = [
        ["bash", "-c", f"echo {n} >>{shlex.quote(str(log))}; exit {code}"]
        for n, code in enumerate((0, 3))
    ]
    place = written(tmp_path / "job", Job(name="x", commands=commands, per_task=2))

    assert [task(place, 0).wait(60), task(place, 0).wait(60)] == [3, 3]

    assert log.read_text().split() == ["0", "1", "1"]


def test_a_task_passes_slurms_signal_on_and_stops(tmp_path):
    commands = [["sleep", "100"], ["touch", str(tmp_path / "second")]]
    place = written(tmp_path / "job", Job(name="x", commands=commands, per_task=2))
    process = task(place, 0)
    eventually(lambda: state(place, 0).get("state") == "running", "it runs")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    eventually(lambda: children.read_text().strip(), "its command runs")

    process.terminate()

    assert process.wait(60) == 128 + signal.SIGTERM
    assert state(place, 0)["signal"] == signal.SIGTERM
    assert not (tmp_path / "second").exists()


# --- how far jobs are

RUNNING = {"state": "running", "exit_code": None, "signal": None, "host": "n1"}
ENDED = {"state": "ended", "exit_code": 0, "signal": None, "host": "n1"}
FAILED = ENDED | {"exit_code": 3}
KILLED = ENDED | {"exit_code": None, "signal": 15}


@pytest.mark.parametrize(
    ("told", "queued", "accounted", "expected"),
    [
        (None, "PENDING", None, ("pending", True, "Priority")),
        (RUNNING, "RUNNING", None, ("running", True, "")),
        (ENDED, "COMPLETING", None, ("done", True, "")),
        (ENDED, None, None, ("done", False, "")),
        (FAILED, None, None, ("failed", False, "exit code 3")),
        (KILLED, None, None, ("failed", False, "signal 15")),
        # requeued: it will be begun again
        (RUNNING, "PENDING", None, ("pending", True, "Priority")),
        (KILLED, "REQUEUED", None, ("pending", True, "Priority")),
        # it could not say how it ended
        (RUNNING, "TIMEOUT", None, ("failed", False, "its task ended as TIMEOUT")),
        (RUNNING, None, "OUT_OF_MEMORY", ("failed", False, "its task ended as OUT_OF_MEMORY")),
        (None, None, "CANCELLED", ("failed", False, "its task ended as CANCELLED")),
        (RUNNING, None, None, ("failed", False, "a result (killed, or its node was lost)")),
        (None, "COMPLETED", None, ("failed", False, "do all nodes see this directory?")),
    ],
)
def test_a_commands_state_comes_from_its_own_word_and_slurms(
    tmp_path, told, queued, accounted, expected
):
    place = written(tmp_path / "job", Job(name="x", commands=[["a"]]))
    write(place / SUBMITTED, [{"job_id": 7, "cluster": "", "tasks": None}])
    if told is not None:
        write(place / STATE / "0.json", told)
    known = {(7, None): TaskState(queued, "Priority")} if queued else {}
    ended = {(7, None): TaskState(accounted)} if accounted else {}

    (command,) = job_status(JobFiles(place), known, ended).commands

    assert (command.state, command.active) == expected[:2]
    assert command.reason.endswith(expected[2])


def fake(folder: Path, **programs: str) -> None:
    """Programs of Slurm's names that do what the text, a Python program, says."""
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        path = folder / name
        path.write_text(f"#!{sys.executable}\nimport os, sys\nfrom pathlib import Path\n{text}\n")
        path.chmod(0o755)


@pytest.fixture
def pretended(tmp_path, monkeypatch):
    """A Slurm that accepts job 7, and of which a test says how it answers questions."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(batch_module, "FIRST_PAUSE_S", 0.01)
    fake(folder, sbatch="print('7')", squeue="", sacct="", scancel="Path('cancelled').touch()")
    monkeypatch.chdir(tmp_path)
    return folder


def test_array_tasks_that_were_cancelled_before_they_began_ended_as_cancelled(tmp_path, pretended):
    """Given accounting that has one row for those tasks, and a queue that forgot them."""
    fake(pretended, squeue="", sacct="print('7_0|FAILED\\n7_[1-2,4-6:2%3]|CANCELLED by 0')")
    batch = Batch(tmp_path / "batch")
    batch.submit(Job(name="x", commands=[["a"]] * 7))

    (job,) = batch.status()

    ends = [command.reason.rpartition(" ")[2] for command in job.commands]
    lost = "lost)"
    assert ends == ["FAILED", "CANCELLED", "CANCELLED", lost, "CANCELLED", lost, "CANCELLED"]


def test_a_wait_bears_a_controller_that_does_not_answer_for_a_while(tmp_path, pretended):
    batch = Batch(tmp_path / "batch")
    batch.submit(Job(name="x", commands=[["a"]]))
    fake(
        pretended,
        squeue="asked = Path('asked')\n"
        "asked.write_text(asked.read_text() + '.' if asked.exists() else '.')\n"
        "count = len(asked.read_text())\n"
        "if count in (2, 3):\n    sys.exit('slurm_load_jobs error: Unable to contact')\n"
        "print('7|N/A|' + ('RUNNING' if count < 5 else 'TIMEOUT') + '|None')",
    )
    seen = []

    (job,) = batch.wait(on_poll=lambda jobs: seen.append(jobs[0].active))

    assert seen[:2] == [True, True]
    assert not job.active
    assert job.failed[0].reason == "its task ended as TIMEOUT"


def test_a_wait_gives_up_a_controller_that_never_answers(tmp_path, pretended, monkeypatch):
    monkeypatch.setattr(batch_module, "PATIENCE_S", 0.2)
    batch = Batch(tmp_path / "batch")
    batch.submit(Job(name="x", commands=[["a"]]))
    fake(pretended, squeue="sys.exit('Unable to contact slurm controller')")

    with pytest.raises(SlurmError, match="squeue ended with status 1: Unable to contact"):
        batch.wait()


def test_a_wait_with_a_bound_tells_how_far_it_is(tmp_path, pretended):
    batch = Batch(tmp_path / "batch")
    batch.submit(Job(name="x", commands=[["a"]]))
    fake(pretended, squeue="print('7|N/A|PENDING|Resources')")

    (job,) = batch.wait(timeout_s=0.05)

    assert job.active
    assert job.commands == (
        CommandStatus(number=0, state="pending", active=True, reason="Resources"),
    )


def test_what_slurm_refuses_is_told_and_what_it_took_is_cancelled(tmp_path, pretended):
    fake(
        pretended,
        sbatch="if 'second' in sys.argv[-1]:\n"
        "    sys.exit('sbatch: error: invalid partition specified: nosuch')\nprint('7;far')",
        scancel="Path('cancelled').write_text(' '.join(sys.argv[1:]))",
    )

    with pytest.raises(SlurmError, match="invalid partition specified: nosuch"):
        Batch(tmp_path / "batch").submit(
            Job(name="first", commands=[["a"]]), Job(name="second", commands=[["a"]])
        )

    assert (tmp_path / "cancelled").read_text() == "--clusters=far --quiet 7"


def test_what_is_known_of_the_job_we_run_in_is_not_handed_on(tmp_path, pretended, monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "7")
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "64")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    monkeypatch.setenv("MINE", "kept")
    fake(pretended, sbatch="Path('env').write_text(' '.join(sorted(os.environ)))\nprint('7')")

    Batch(tmp_path / "batch").submit(Job(name="x", commands=[["a"]]))

    seen = set((tmp_path / "env").read_text().split())
    assert {name for name in seen if name.startswith("SLURM_")} == {"SLURM_CONF"}
    assert "MINE" in seen


def test_a_batch_is_submitted_once(tmp_path, pretended):
    batch = Batch(tmp_path / "batch")
    batch.submit(Job(name="x", commands=[["a"]]))
    with pytest.raises(UsageError, match="the batch has a job 'x' already"):
        batch.submit(Job(name="x", commands=[["a"]]))


def test_a_directory_without_a_batch_is_told_of(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UsageError, match="no batch was submitted from here"):
            Batch.open(place)
    done = subprocess.run(
        python("harvest_cluster.batch", "status", str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no batch was submitted from here" in done.stderr


def test_without_slurm_a_submission_is_a_usage_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for _ in "twice":  # nothing is left that would be in the way
        with pytest.raises(UsageError, match="sbatch is not on the PATH"):
            Batch(tmp_path / "batch").submit(Job(name="x", commands=[["a"]]))
