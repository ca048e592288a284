"""What a shell completes: names, settings and words of options, of our commands and plugins'."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from harvest.plugins.registry import manager

COMMAND = Path(sys.executable).with_name("harvest")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not COMMAND.exists(), reason="no command is installed beside this Python"),
]


def completed(line: str) -> set[str]:
    """What the shell is offered for the last word of a line, which is empty after a blank."""
    words = line.split(" ")
    done = subprocess.run(
        [COMMAND], capture_output=True, text=True, check=False,
        env=os.environ | {
            "_HARVEST_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
    )  # fmt: skip
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "among", "never"),
    [
        ("harvest sche", {"schema", "schedule"}, {"show"}),
        ("harvest report slurm.", {"slurm.usage"}, {"dask.run"}),
        ("harvest schema dask.tr", {"dask.transfer", "dask.trace"}, {"dask.tasks"}),
        ("harvest findings out --rule dask.", {"dask.event_loop"}, {"gpfs.cold"}),
        ("harvest plugins show slurm.f", {"slurm.failures", "slurm.failed_jobs"}, {"slurm"}),
        ("harvest plugins list --kind r", {"report", "rule"}, {"source"}),
        ("harvest run --engine ", {"local", "dask", "slurm"}, {"parquet"}),
        ("harvest run --on-error ", {"reject", "fail"}, {"keep"}),
        ("harvest run -s slu", {"slurm:"}, {"dask:"}),
        ("harvest run -k ", {"parquet:", "jsonl:"}, {"slurm:"}),
        ("harvest run --set ", {"slurm.", "parquet."}, set()),
        ("harvest run --set slurm.ti", {"slurm.timezone=", "slurm.time="}, {"slurm.users="}),
        ("harvest run --set parquet.compression=s", {"parquet.compression=snappy"}, set()),
        ("harvest view gpfs.usage out --set ", {"by=", "metrics="}, {"month="}),
        ("harvest report slurm.usage out --set mo", {"month="}, {"user="}),
        ("harvest query out q --set dask.tasks.", {"dask.tasks.run="}, {"slurm.usage.by="}),
        ("harvest dask capture a --yappi ", {"cpu", "wall"}, set()),
    ],
)  # fmt: skip
def test_the_shell_completes(line, among, never):
    found = completed(line)
    missing = {word for word in among if word not in found}
    assert not missing, f"{line!r} offers {sorted(found)}"
    assert not never & found


def test_a_plugin_s_view_is_completed():
    assert "dask.tasks" in completed("harvest view dask.t")


def test_every_threshold_of_a_rule_is_completed():
    found = completed("harvest findings out --set ")
    for rule in manager().rules.values():
        assert {f"{rule.name}.{name}=" for name in rule.thresholds} <= found


def test_bash_itself_completes_without_anything_installed(tmp_path):
    # given a shell that has read the script which harvest prints for it
    script = subprocess.run(
        [COMMAND], capture_output=True, text=True, check=False,
        env=os.environ | {"_HARVEST_COMPLETE": "source_bash"},
    )  # fmt: skip
    (tmp_path / "completion.bash").write_text(script.stdout)
    path = os.pathsep.join((str(COMMAND.parent), os.environ["PATH"]))
    shell = pexpect.spawn(
        "bash", ["--norc", "--noprofile"], cwd=str(tmp_path), encoding="utf-8", timeout=60,
        env=os.environ | {"PATH": path, "HOME": str(tmp_path), "TERM": "dumb", "PS1": "ready> ",
             "HISTFILE": "/dev/null"},
    )  # fmt: skip
    shell.expect_exact("ready> ")
    shell.sendline("source completion.bash; echo sourced")
    shell.expect("sourced\r?\n")
    # when a report's name and then an option's word are begun, then the tabulator ends them
    shell.send("harvest report slurm.queu\t")
    shell.expect_exact("slurm.queue_time ")
    shell.send("out --set parti\t")
    shell.expect(re.escape("partition="))
    shell.sendcontrol("c")
    shell.close()
    assert not list(tmp_path.glob(".*")), "nothing was written to the home"
