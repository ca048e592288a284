"""Rules on jobs, each with rows that make it speak and rows that just do not."""

from pathlib import Path

import polars as pl
import pytest
from slurm_reader import RULES
from spoken import once

import harvest
from harvest_testing import judge

BY_NAME = {rule.name: rule for rule in RULES}


def spoken(name: str, rows: dict[str, list], **thresholds: float) -> list[tuple[str, str]]:
    """What a rule says of rows of its view; columns that it shows and rows lack are empty."""
    frame = pl.DataFrame(rows)
    lacking = [c for c in BY_NAME[name].columns if c not in rows]
    frame = frame.with_columns(pl.lit(None).alias(column) for column in lacking)
    return [(f.finding.severity, f.finding.text) for f in judge(BY_NAME[name], frame, **thresholds)]


WASTE = {
    # rule: unit, column of the hours wasted, the share and the hours it allows, much
    "slurm.cpu_waste": ("CPU hours", "cpu_wasted_hours", 0.6, 100, 0.25),
    "slurm.memory_waste": ("GiB hours of memory", "mem_wasted_gib_hours", 0.35, 1000, 0.5),
    "slurm.gpu_waste": ("GPU hours", "gpu_wasted_hours", 0.25, 50, 0.1),
    "slurm.timelimit_waste": ("hours of time limit", "timelimit_wasted_hours", 0.2, 1000, 0.75),
}  # fmt: skip


@pytest.mark.parametrize("name", WASTE)
def test_users_who_waste_are_counted_and_the_worst_is_named(name):
    """Of five users two waste: one has just enough hours, the other most of them all."""
    unit, column, share, hours, much = WASTE[name]
    resource = column.partition("_")[0]
    rows = {
        "user": ["even", "worst", "busy", "small", "unmeasured"],
        "account": ["a", "physics", "a", "a", "a"],
        column: [float(hours), 3000.0, 5000.0, hours - 0.1, None],
        f"{resource}_eff": [share - 0.01, 0.1, share, 0.0, None],
        f"{resource}_wasted_share": [0.01, much - 0.01, 0.2, 0.0, None],
        f"{resource}_unknown_jobs": [0, 0, 0, 0, 9],
        column.replace("_wasted", ""): [9e9, 9e9, 9e9, 9e9, 9.0],
    }
    said = "{} left {} {} unused" if resource == "timelimit" else "{} wasted {} {}"
    text = (
        f"{said.format('2 users', f'{hours + 3000:,}', unit)}. This is {much * 100:.0f} % of all "
        f"{unit} with known use. worst (physics) has the most: 3,000 unused, 10 % used. The rule "
        f"expects {share * 100:.0f} %."
    )

    high, medium = ("medium", "low") if resource == "timelimit" else ("high", "medium")
    assert spoken(name, rows) == [(high, text)]
    (only_one,) = spoken(name, rows, hours=hours + 0.1)
    assert only_one[0] == medium
    assert only_one[1].startswith(said.format("worst", "3,000", unit))
    assert spoken(name, rows, share=0.1, hours=hours) == []


def failures(**columns: list) -> dict[str, list]:
    one = {
        "state": "failed", "reason": "unknown", "user": "ann", "cpu_hours": 0.0,
        "ended": True, "cpu_unknown_jobs": 0, "run_again": 0, "ended_jobs": 1000,
        "ended_cpu_hours": 500.0,
    }  # fmt: skip
    return {name: [value] * len(columns["jobs"]) for name, value in one.items()} | columns


def test_runs_that_failed_are_counted_with_their_most_frequent_reason():
    rows = failures(
        state=["failed", "failed", "failed", "timeout"],
        reason=["out of memory", "exit code 2", "out of memory", "time limit"],
        user=["ann", "bob", "bob", "ann"],
        jobs=[3, 4, 3, 500],
        cpu_hours=[5.0, 20.0, 24.9, 100.0],
    )
    text = (
        "10 of 1,000 runs ended as FAILED (1 %). They took 50 of the 500 CPU hours of ended "
        "runs (10 %). bob has the most: 7 runs. The main reason is out of memory: 6 runs."
    )

    assert spoken("slurm.failed_jobs", rows, hours=50) == [("medium", text)]
    rows["cpu_hours"] = [5.0, 20.0, 25.0, 100.0]
    assert spoken("slurm.failed_jobs", rows, hours=50) == [("high", text)]
    # much of little is little
    assert spoken("slurm.failed_jobs", rows) == [("medium", text)]
    rows["jobs"] = [3, 4, 2, 500]  # 9 of 1,000 are under one in a hundred
    assert spoken("slurm.failed_jobs", rows) == []
    assert len(spoken("slurm.failed_jobs", rows, share=0.009)) == 1


@pytest.mark.parametrize(
    ("name", "state", "reason", "words"),
    [
        ("slurm.out_of_memory", "out_of_memory", "out of memory", "ran out of memory"),
        ("slurm.out_of_memory", "failed", "out of memory", "ran out of memory"),
        ("slurm.timeouts", "timeout", "time limit", "reached the time limit"),
        ("slurm.timeouts", "deadline", "unknown", "reached the time limit"),
        ("slurm.node_failures", "node_fail", "node", "hit a node failure"),
        ("slurm.node_failures", "boot_fail", "node", "hit a node failure"),
    ],
)
def test_each_cause_has_its_words(name, state, reason, words):
    rows = failures(
        state=[state, "cancelled"], reason=[reason, None], jobs=[20, 900], cpu_hours=[500.0, 0.0]
    )
    expected = f"20 of 1,000 runs {words} (2 %). They took 500 of the 500 CPU hours of ended runs"

    assert spoken(name, rows) == [("high", f"{expected} (100 %). ann has the most: 20 runs.")]
    rows |= {"state": ["completed", "cancelled"], "reason": [None, None]}
    assert spoken(name, rows) == []


def test_runs_whose_cpu_hours_or_users_are_not_known_are_counted_all_the_same():
    rows = failures(
        jobs=[1000], user=[None], cpu_hours=[None], cpu_unknown_jobs=[1000], ended_cpu_hours=[None]
    )
    assert spoken("slurm.failed_jobs", rows) == once(
        "medium",
        "1,000 of 1,000 runs ended as FAILED (100 %). Their CPU hours are unknown. The dump "
        "does not record their users.",
    )


def test_repeated_runs_are_counted_by_what_ended_them():
    rows = failures(
        state=["node_fail", "preempted", "requeued", "failed"],
        jobs=[5, 9, 1, 7],
        run_again=[4, 5, 1, 0],
    )
    text = (
        "10 of 1,000 runs had to be repeated (1 %). By final state: preempted 5, node_fail 4, "
        "requeued 1."
    )

    assert spoken("slurm.requeues", rows) == [("medium", text)]
    assert spoken("slurm.requeues", rows, much=0.01) == [("high", text)]
    assert spoken("slurm.requeues", rows, share=0.011) == []
    rows["run_again"] = [0, 0, 0, 0]
    assert spoken("slurm.requeues", rows) == []


def test_partitions_where_jobs_wait_longer_than_they_run():
    rows = {
        "cluster": ["c", "c", "c", "c", "c"],
        "partition": ["long", "short", "even", "rare", None],
        "median_compared_wait_s": [7200.0, 599.0, 3600.0, 9e5, 9e5],
        "median_compared_run_s": [3600.0, 10.0, 3600.0, 1.0, 1.0],
        "compared_jobs": [1200, 50, 50, 19, 50],
        "started": [1200, 50, 50, 19, 50],
    }
    text = (
        "Partition long: jobs wait 2.0 h to run 1.0 h. Medians of 1,200 jobs in partition long of "
        "cluster c. In 1 of 4 partitions, jobs wait longer than their run time."
    )

    assert spoken("slurm.long_waits", rows) == [("medium", text)]
    assert spoken("slurm.long_waits", rows, ratio=0.1)[0][0] == "high"
    assert spoken("slurm.long_waits", rows, ratio=2) == []
    assert spoken("slurm.long_waits", {**rows, "compared_jobs": [19] * 5}) == []


ARRAYS = {
    "cluster": ["c", "c", "c"],
    "array_job_id": [5, 6, 7],
    "user": ["ann", "bob", "cy"],
    "ended": [100, 900, 99],
    "median_run_s": [599.0, 30.0, 1.0],
}


def test_arrays_of_many_short_tasks():
    text = (
        "Array 6: 900 tasks run 30 s each (median). It belongs to bob. In 2 of 3 arrays, 100 or "
        "more tasks have a median below 10.0 min: 1,000 tasks in all."
    )

    assert spoken("slurm.short_array_tasks", ARRAYS) == [("medium", text)]
    assert spoken("slurm.short_array_tasks", ARRAYS, many=1001) == [("low", text)]
    longer = {**ARRAYS, "median_run_s": [600.0, 600.0, 1.0]}
    assert spoken("slurm.short_array_tasks", longer) == []


def test_arrays_most_of_whose_tasks_failed():
    rows = {**ARRAYS, "ended": [10, 9, 100], "failed": [6, 9, 50], "cpu_hours": [1.0, 1.0, 1.0]}

    text = (
        "Array 5: 6 of 10 tasks failed. It belongs to ann. In 1 of 3 arrays, more than 50 % of "
        "the tasks failed: 6 tasks in all."
    )
    assert spoken("slurm.failed_arrays", rows) == once("medium", text)
    assert spoken("slurm.failed_arrays", rows, many=6) == once("high", text)
    assert spoken("slurm.failed_arrays", {**rows, "failed": [5, 9, 50]}) == []


def test_arrays_that_use_a_small_share_of_their_cpus():
    rows = {
        **ARRAYS,
        "ended": [10, 10, 9],
        "cpu_wasted_hours": [100.0, 99.0, 500.0],
        "cpu_eff": [0.24, 0.0, 0.0],
    }

    assert spoken("slurm.idle_arrays", rows) == once(
        "medium",
        "Array 5 wasted 100 CPU hours (24 % used). It belongs to ann. 1 of 3 arrays used less "
        "than 25 % of their CPUs and wasted 100 CPU hours.",
    )
    assert spoken("slurm.idle_arrays", rows, share=0.24) == []


NAME, COUNT = "x" * 150 + " " + "y" * 149, 9_999_999_999
HOSTILE = {
    "cluster": NAME, "partition": NAME, "user": NAME, "account": NAME, "name": NAME,
    "origin": NAME, "note": f"sacct says: error: {NAME}", "source": "slurm",
    "array_job_id": COUNT, "median_compared_wait_s": 3e9, "median_compared_run_s": 1e9,
    "median_run_s": 599.0, "ended": COUNT, "reason": NAME,
}  # fmt: skip
"""Values of a row by column; other numbers are COUNT, and shares 0.123456."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_headline_has_80_characters_for_the_longest_names_and_numbers(rule):
    shares = {c: 0.123456 for c in rule.columns if c.endswith(("_eff", "_share"))}
    values = dict.fromkeys(rule.columns, COUNT) | shares | HOSTILE
    frame = pl.DataFrame({c: [values[c]] * 3 for c in rule.columns if c != "state"})
    frame = frame.with_columns(pl.lit("node_fail").alias("state"))
    limits = {name: limit.value for name, limit in rule.thresholds.items()}

    (found,) = rule.judge(frame, 3, **limits)
    assert len(found.headline) <= 80
    assert not found.headline.endswith(".")
    assert NAME not in found.headline
    if "x" in found.headline:  # what was shortened is in full below it
        assert NAME in found.detail


# whole datasets, whose findings are known beforehand


FIELDS = (
    "JobID|Cluster|User|Account|Partition|State|ExitCode|Submit|Start|End|Elapsed|Timelimit|"
    "AllocCPUS|TotalCPU|AllocTRES"
)


def harvested(tmp_path: Path, rows: list[str]) -> harvest.Dataset:
    (tmp_path / "dump.txt").write_text("\n".join([FIELDS, *rows, ""]))
    source, target = f"slurm:{tmp_path / 'dump.txt'}", f"parquet:{tmp_path / 'out'}"
    harvest.run(source, target, settings={"slurm": {"timezone": "UTC"}}, workers=1)
    return harvest.open(tmp_path / "out")


def row(number: str, user: str, state: str = "COMPLETED", used: str = "10:00:00") -> str:
    """Ten hours on ten CPUs, which is a hundred CPU hours; it waited for a minute."""
    times = "2024-03-01T10:00:00|2024-03-01T10:01:00|2024-03-01T20:01:00|10:00:00|12:00:00"
    code = {"FAILED": "1:0", "COMPLETED": "0:0"}.get(state, "0:0")
    return f"{number}|c|{user}|physics|cpu|{state}|{code}|{times}|10|{used}|cpu=10"


def texts(dataset: harvest.Dataset, **settings: str) -> list[tuple[str, str]]:
    names = [name for name in dataset.plugins.rules if name.startswith("slurm.")]
    return [
        (found.finding.severity, found.finding.text)
        for found in dataset.findings(names, **settings).found
    ]


@pytest.mark.slow
def test_one_wasteful_user_and_one_broken_array_are_what_is_found(tmp_path):
    """20 jobs of ann use 10 of 100 hours; 12 tasks of bob use all, and 11 of them fail."""
    rows = [row(str(n), "ann") for n in range(1, 21)]
    rows += [
        row(f"30_{n}", "bob", "FAILED" if n else "COMPLETED", used="4-04:00:00") for n in range(12)
    ]
    dataset = harvested(tmp_path, rows)
    waste = (
        "ann wasted 1,800 CPU hours. This is 56 % of all CPU hours with known use. ann (physics) "
        "has the most: 1,800 unused, 10 % used. The rule expects 60 %."
    )
    failed = (
        "11 of 32 runs ended as FAILED (34 %). They took 1,100 of the 3,200 CPU hours of "
        "ended runs (34 %). bob has the most: 11 runs. The main reason is exit code 1: 11 runs."
    )
    array = (
        "Array 30: 11 of 12 tasks failed. It belongs to bob. In 1 of 1 array, more than 50 % of "
        "the tasks failed: 11 tasks in all."
    )

    assert sorted(texts(dataset)) == sorted([("high", waste), ("high", failed), ("medium", array)])
    # and on the first page, for one user as well
    verdict = dataset.report("slurm.summary").verdict
    assert sorted(one.finding.text for one in verdict.found) == sorted([waste, failed, array])
    assert [text for _, text in texts(dataset, user="ann")] == [waste.replace("56 %", "90 %")]


def test_a_well_used_cluster_has_no_finding(tmp_path):
    rows = [row(str(n), user, used="3-12:00:00") for n in range(40) for user in ("ann",)]
    assert texts(harvested(tmp_path, rows)) == []
