"""Why runs failed: reasons, steps and nodes, against a count in plain Python."""

import random
from collections import Counter
from functools import partial

import pytest
from slurm_reader import REPORTS, VIEWS, Reader, dataset

from harvest_accounting.job_runs import ENDS, FAILED
from harvest_slurm.read.presets import PRESETS

usage_report = REPORTS["slurm.usage"]
failures = REPORTS["slurm.failures"]
usage = VIEWS["slurm.usage"]

HEADER = (
    "JobID|User|Account|Partition|State|ExitCode|Submit|Start|End|Elapsed|AllocCPUS|NodeList|"
    "TotalCPU|AllocTRES"
)
TIMES = "2024-05-01T10:00:00|2024-05-01T10:00:{0:02}|2024-05-01T11:00:{0:02}|01:00:00|2"


def row(job, state="FAILED", code="1:0", nodes="n1", account="maths", start=0, user="ann"):
    """A row of a job, or of a step where the id has a dot."""
    whose = "||" if "." in str(job) else f"{user}|{account}|cpu"
    return f"{job}|{whose}|{state}|{code}|{TIMES.format(start)}|{nodes}|00:30:00|cpu=2,node=1"


@pytest.fixture
def read(tmp_path):
    return partial(dataset, tmp_path / "dump.txt", HEADER)


def reasons_of(data, **settings):
    return data.view("slurm.reasons", **settings).collect().to_dicts()


ENDED = [
    (("FAILED", "3:0"), [], "exit code 3", None),
    (("FAILED", "0:11"), [], "signal 11 (SIGSEGV)", None),
    (("FAILED", "0:53"), [], "signal 53", None),
    (("FAILED", "137:0"), [], "exit code 137 (SIGKILL)", None),
    (("FAILED", ""), [], "unknown", None),
    (("TIMEOUT", "0:0"), [("batch", "CANCELLED", "0:15")], "time limit", "batch"),
    (("DEADLINE", "1:0"), [], "deadline", None),
    (("NODE_FAIL", "0:0"), [], "node", None),
    (("BOOT_FAIL", "0:0"), [], "node", None),
    (("OUT_OF_MEMORY", "0:125"), [], "out of memory", None),
    # the script ended with 1, for a step of it was out of memory
    (
        ("FAILED", "1:0"),
        [("batch", "FAILED", "1:0"), ("0", "OUT_OF_MEMORY", "0:125")],
        "out of memory",
        "0",
    ),
    # what Slurm's own step repeats says nothing
    (("FAILED", "2:0"), [("extern", "FAILED", "9:0")], "exit code 2", None),
    # a step says more than the script around it
    (
        ("FAILED", "1:0"),
        [("batch", "FAILED", "1:0"), ("0", "COMPLETED", "0:0"), ("1", "FAILED", "0:11")],
        "signal 11 (SIGSEGV)",
        "1",
    ),
]
"""The state and code of a job, its failed steps, the reason, and the step that shows it."""


def test_a_run_has_the_reason_that_its_first_failed_step_shows(read):
    lines = []
    for number, (job, steps, _, _) in enumerate(ENDED):
        lines.append(row(number, *job, account=f"{number:02}"))
        lines += [row(f"{number}.{name}", *ends) for name, *ends in steps]
    found = sorted(reasons_of(read(*lines)), key=lambda row: row["account"])
    shown = [(row["reason"], row["jobs"], row["failed_step"]) for row in found]
    assert shown == [(reason, 1, step) for _, _, reason, step in ENDED]


def test_the_step_that_began_first_is_named_and_whether_it_was_the_first_of_all(read):
    data = read(
        row(1),
        row("1.batch", start=0),
        row("1.0", "COMPLETED", "0:0", start=1),
        row("1.2", code="7:0", start=9),
        row("1.1", code="7:0", start=5),
        row(2),
        row("2.0", code="7:0", start=3),
    )
    (found,) = reasons_of(data)
    assert (found["reason"], found["step_known_jobs"]) == ("exit code 7", 2)
    assert (found["failed_step_jobs"], found["first_step_jobs"]) == (1, 1)


def test_nine_of_ten_on_one_node_is_said(read):
    """And of all runs that node had far fewer: else it would not be the node's."""
    bad = [row(n, nodes="n[7-8]" if n == 3 else "n7" if n < 10 else "n1") for n in range(1, 11)]
    good = [row(n, "COMPLETED", "0:0", nodes=f"n{n % 5}") for n in range(20, 60)]
    data = read(*bad, *good)
    (found,) = reasons_of(data)
    assert (found["top_node"], found["top_node_jobs"], found["node_known_jobs"]) == ("n7", 9, 10)
    said = failures(data).intro
    assert said == (
        "Node n7: 9 of 10 runs of account maths with the reason exit code 1 failed there. The "
        "node ran 18 % of all runs.",
    )
    everywhere = read(*bad)
    assert failures(everywhere).intro == ()


def test_by_node_a_run_counts_at_each_of_its_nodes(read):
    data = read(row(1, nodes="n[1-2]"), row(2, "COMPLETED", "0:0", nodes="n2"))
    found = {line["node"]: line for line in reasons_of(data, by="node")}
    assert {name: line["ended_jobs"] for name, line in found.items()} == {"n1": 1, "n2": 2}
    assert found["n2"]["failed_share"] == 0.5


def test_a_run_that_never_started_has_no_node(read):
    data = read(row(1, "DEADLINE", "1:0", nodes="None assigned"))
    (found,) = reasons_of(data)
    assert found["top_node"] is None
    assert found["node_known_jobs"] == 0
    (lost,) = reasons_of(data, by="node")
    assert (lost["node"], lost["jobs"], lost["ended_jobs"]) == (None, 1, 1)


STATES = [state.upper() for states in ENDS.values() for state in states] + ["RUNNING"]


def test_reasons_add_up_to_the_failures_of_each_account(read):
    """Counted in plain Python, and by slurm.usage, whose columns of failures they divide."""
    dice = random.Random(5)
    kinds = (STATES, ["0:0", "1:0", "0:9", "2:0", ""], ["maths", "physics", ""], ["n1", "n[1-3]"])
    runs = [tuple(map(dice.choice, kinds)) for _ in range(300)]
    data = read(
        *(row(n, state, code, nodes, who) for n, (state, code, who, nodes) in enumerate(runs, 1))
    )
    expected = Counter(who or None for state, _, who, _ in runs if state.lower() in FAILED)
    counted: Counter[str | None] = Counter()
    reasons = reasons_of(data)
    for line in reasons:
        counted[line["account"]] += line["jobs"]
    assert counted == expected
    groups = usage(data, by="account").collect().to_dicts()
    assert {g["account"]: g["failed_jobs"] for g in groups if g["failed_jobs"]} == dict(expected)
    for group in groups:
        mine = [line["jobs"] for line in reasons if line["account"] == group["account"]]
        assert group["main_reason_jobs"] == (max(mine) if mine else None)


def test_of_runs_that_ended_together_that_of_the_largest_id_is_the_last(read):
    assert read(row(1), row(3), row(2)).view("slurm.ends").collect()["last_job"].item() == "3"


def test_prices_make_costs_that_add_up(read):
    """Two runs of 2 CPUs for an hour, each used half an hour; one of them failed."""
    data = read(row(1), row(2, "COMPLETED", "0:0"))
    (group,) = usage(data, by="account", cpu_hour_cost=0.5).collect().to_dicts()
    expected = {"": 2.0, "used_": 0.5, "wasted_": 1.5, "unknown_": 0.0, "failed_": 1.0}
    assert {part: group[f"{part}cost"] for part in expected} == expected
    (without,) = usage(data, by="account").collect().to_dicts()
    assert without["cost"] is None
    report = usage_report(data, by=["account"], cpu_hour_cost=0.5)
    assert "costs" in [table.name for table in report.tables]
    assert "costs" not in [table.name for table in usage_report(data, by=["account"]).tables]


def test_an_unknown_amount_costs_nothing_that_is_known(read):
    """GPUs are not accounted for on this cluster: what they cost is not 0."""
    (group,) = usage(read(row(1)), by="account", gpu_hour_cost=2.0).collect().to_dicts()
    assert group["cost"] is None


def test_a_table_of_dashes_is_not_shown_and_the_field_is_named_once(tmp_path):
    data = dataset(
        tmp_path / "dump.txt",
        "JobID|Account|State|Start|End|Elapsed|AllocCPUS",
        "1|maths|FAILED|2024-05-01T10:00:00|2024-05-01T11:00:00|01:00:00|2",
        "2|maths|COMPLETED|2024-05-01T10:00:00|2024-05-01T11:00:00|01:00:00|2",
    )
    for report in (usage_report(data, by=["account"]), failures(data)):
        for table in report.tables:
            empty = [c.name for c in table.columns if not table.rows[c.name].count()]
            assert not empty, (table.name, empty)
        text = report.text()
        assert text.count("TotalCPU") == 1
        assert text.count("ExitCode") == 1
        assert "--format=NodeList" in text


def test_jobs_that_may_be_counted_twice_are_named(tmp_path):
    """Two dumps without submission times hold job 1: it may have run twice."""
    data = dataset(tmp_path / "dump.txt", "JobID|State", "1|RUNNING", "1|COMPLETED", "2|COMPLETED")
    said = "2 of 3 jobs have the job id of another, and no time that distinguishes them."
    assert said in usage_report(data).text(200)


def test_why_jobs_failed_on_a_real_cluster(shared_data):
    """Two jobs of ec85 say FAILED; their first steps were out of memory."""
    path = shared_data / "slurm" / "sacct-parsable2-noheader-other-site.txt"
    data = Reader(path, layout="sonar", timezone="Europe/Oslo")
    found = {(r["account"], r["reason"]): r["jobs"] for r in reasons_of(data, year="2024")}
    assert found == {
        ("ec30", "exit code 1"): 1,
        ("ec30", "exit code 2"): 1,
        ("ec395", "time limit"): 2,
        ("ec85", "out of memory"): 2,
    }
    (ends,) = data.view("slurm.failures", account="ec85").collect().to_dicts()
    assert (ends["state"], ends["reason"], ends["jobs"]) == ("failed", "out of memory", 2)
    given, used, lost = in_plain_python(path)
    groups = {g["account"]: g for g in usage(data, by="account", year="2024").collect().to_dicts()}
    assert {name: g["cpu_hours"] for name, g in groups.items()} == pytest.approx(given)
    assert {name: g["cpu_used_hours"] for name, g in groups.items()} == pytest.approx(used)
    for name, group in groups.items():
        assert group["cpu_wasted_hours"] == pytest.approx(given[name] - used[name])
        assert group["failed_cpu_hours"] == pytest.approx(lost.get(name, 0.0))


def in_plain_python(path):
    """CPU hours given, used by steps, and given to jobs that failed, by account."""
    counted: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    given, used, lost = counted
    owners = {}
    for line in path.read_text().splitlines():
        row = dict(zip(PRESETS["sonar"], line.split("|"), strict=True))
        job, _, step = row["JobID"].partition(".")
        if step:
            spent = seconds(row["UserCPU"]) + seconds(row["SystemCPU"])
            used[owners[job]] += spent / 3600
            continue
        owners[job] = account = row["Account"]
        cpus = int(dict(pair.split("=") for pair in row["AllocTRES"].split(","))["cpu"])
        hours = int(row["ElapsedRaw"]) * cpus / 3600
        given[account] += hours
        if row["State"] in ("FAILED", "TIMEOUT"):
            lost[account] += hours
    return tuple(map(dict, counted))


def seconds(text):
    days, _, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total + 86_400 * int(days or 0)
