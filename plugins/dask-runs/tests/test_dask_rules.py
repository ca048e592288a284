"""Rules on Dask runs, each with numbers that make it speak and numbers that just do not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from dask_rows import dataset
from spoken import once

from harvest_dask_runs.plugin import harvest_rules
from harvest_dask_runs.views import indicators as view
from harvest_testing import judge

RULES = harvest_rules()
BY_NAME = {rule.name: rule for rule in RULES}
SCHEMA = view.indicators(dataset()).collect_schema()
START = datetime(2026, 11, 22, 12, tzinfo=UTC)


def spoken(name: str, *runs: dict[str, Any], **thresholds: float) -> list[tuple[str, str]]:
    """What a rule says of runs, of which only some numbers are given."""
    found = judge(BY_NAME[name], indicators(*runs), **thresholds)
    return [(f.finding.severity, f.finding.text) for f in found]


def indicators(*runs: dict[str, Any]) -> pl.DataFrame:
    """Rows of ``dask.indicators``; what is not given is null."""
    rows = [{"run": f"/runs/R{n}", **run} for n, run in enumerate(runs, 1)]
    return pl.DataFrame(
        [{column: row.get(column) for column in SCHEMA} for row in rows], schema=SCHEMA
    )


def test_threads_without_work():
    """Of 8 threads and 100 s, 300 thread-seconds are 37.5 %."""
    run = {
        "observed_threads": 8,
        "span_s": 100.0,
        "thread_s": 800.0,
        "observed_busy_s": 300.0,
        "used_share": 0.375,
        "peak_threads": 7,
    }

    assert spoken("dask.unused_threads", run) == once(
        "medium",
        "8 threads ran tasks 38 % of the time. "
        "300 of 800 thread-seconds used, at most 7 tasks at the same time.",
    )
    assert spoken("dask.unused_threads", run | {"observed_busy_s": 400.0, "used_share": 0.5}) == []
    assert spoken("dask.unused_threads", run, share=0.375) == []
    (little,) = spoken(
        "dask.unused_threads", run | {"observed_busy_s": 199.0, "used_share": 199 / 800}
    )
    assert little[0] == "high"
    # what is short costs nobody much
    short = {"thread_s": 16.0, "observed_busy_s": 6.0, "used_share": 0.375}
    assert spoken("dask.unused_threads", run | short) == []


def test_threads_of_workers_that_were_not_observed_are_in_no_share():
    """What half of the workers did is not known: nobody divides by their threads."""
    run = {
        "workers": 8, "observed_workers": 4, "observed_threads": 32, "span_s": 100.0,
        "thread_s": 3200.0, "observed_busy_s": 640.0, "used_share": 0.2, "peak_threads": 30,
    }  # fmt: skip

    (found,) = judge(BY_NAME["dask.unused_threads"], indicators(run))

    # a fifth would be high, if the others were known to be idle, too
    assert found.finding.severity == "medium"
    assert found.finding.text.startswith(
        "32 threads ran tasks 20 % of the time. 4 of 8 workers observed. "
    )
    assert found.finding.certainty == ("part",)
    assert judge(BY_NAME["dask.unused_threads"], indicators(run | {"used_share": None})) == []


def test_a_record_that_lacks_something_gives_a_lower_bound():
    run = {"loop_warnings": 2, "loop_s": 7.5, "loop_worst_s": 4.5}

    for cut, certainty in ((True, ("lower_bound",)), (False, ()), (None, ())):
        (found,) = judge(BY_NAME["dask.event_loop"], indicators(run | {"cut": cut}))
        assert found.finding.certainty == certainty


def test_every_rule_says_what_it_rests_on():
    assert {
        rule.name for rule in RULES if not (rule.numerator and rule.judged and rule.unable)
    } == set()


def test_work_for_few_threads():
    run = {
        "observed_threads": 40,
        "few_threads": 4,
        "peak_threads": 40,
        "span_s": 50.0,
        "serial_s": 20.0,
        "tail_s": 10.0,
        "last_prefix": "sum-aggregate",
    }

    assert spoken("dask.work_for_few", run) == once(
        "medium",
        "Only 1 to 4 of 40 threads busy 40 % of the time. "
        "20 of 50 s. The last 10 s never had more, idle time included.",
    )
    assert spoken("dask.work_for_few", run | {"serial_s": 10.0}) == []
    ((severity, text),) = spoken(
        "dask.work_for_few", run | {"few_threads": 1, "serial_s": 26.0, "tail_s": 4.9}
    )
    assert severity == "high"
    assert text == "Only 1 of 40 threads busy 52 % of the time. 26 of 50 s."
    ran = {
        "few_prefixes": ["load", "sum"],
        "few_shares": [0.75, 0.25],
        "few_prefix": "load",
        "few_key": "load-0a4d0fcc-9966-4ca9-825b-2a7243830d83",
        "few_key_s": 12.0,
        "few_dependents": 3,
        "few_dependents_prefix": "sum",
    }
    what = " The longest task, load-0a4d0f…2a7243830d83, ran 12 s; 3 tasks waited for it."
    assert spoken("dask.work_for_few", run | ran)[0][1].endswith(f", idle time included.{what}")
    unused = {"observed_threads": 40, "span_s": 50.0, "thread_s": 2000.0, "observed_busy_s": 90.0}
    unused |= {"used_share": 0.045, "few_threads": 4, "peak_threads": 4}
    path = {"path_computing_s": 40.0, "path_tasks": 5, "path_prefix": "load", "path_prefix_s": 36.0}
    ((_, text),) = spoken("dask.unused_threads", unused | ran | path)
    assert text.endswith(
        "at most 4 tasks at the same time. 5 tasks on its critical path ran for 40 s, mostly load."
    )
    ((_, text),) = spoken("dask.unused_threads", unused | ran)
    assert text.endswith(f"at most 4 tasks at the same time.{what}")
    # a run that never had more at once is one whose threads are unused
    assert spoken("dask.work_for_few", run | {"peak_threads": 4}) == []


def test_gaps_without_any_task():
    run = {
        "span_s": 40.0,
        "gaps_s": 5.0,
        "longest_gap_s": 3.0,
        "first_start": START,
        "longest_gap_start": START + timedelta(seconds=12),
    }

    assert spoken("dask.gaps", run) == once(
        "medium",
        "No task ran for 12 % of the time. 5 of 40 s. The longest gap lasted 3 s and began "
        "12 s after the first task.",
    )
    for part, link, ending in (
        ("moving", "dependency", "waited for a transfer."),
        ("nothing recorded", "client", "had not been sent by the client."),
        ("nothing recorded", "time", "waited for something not recorded."),
    ):
        awaited = {"gap_prefix": "sum", "gap_part": part, "gap_link": link}
        text = spoken("dask.gaps", run | awaited)[0][1]
        assert text.endswith(f"first task. The next task, sum, {ending}")
    assert spoken("dask.gaps", run | {"gaps_s": 4.0}) == []
    assert spoken("dask.gaps", run | {"gaps_s": 21.0})[0][0] == "high"


def test_a_worker_with_most_of_the_work():
    run = {"workers": 4, "span_s": 20.0, "mean_worker_s": 4.0, "imbalance_s": 8.0}
    run |= {"busiest_worker": "tcp://a:1", "busiest_s": 12.0, "idle_workers": 1}

    assert spoken("dask.imbalance", run) == once(
        "medium",
        "Busiest worker has 8 s more work than the mean. Worker tcp://a:1 ran tasks for 12 s "
        "per thread. The mean of 4 workers is 4 s; 1 ran nothing.",
    )
    assert spoken("dask.imbalance", run | {"imbalance_s": 2.0}) == []
    assert spoken("dask.imbalance", run | {"workers": 1}) == []
    assert spoken("dask.imbalance", run | {"imbalance_s": 10.5})[0][0] == "high"


def test_tasks_too_short_for_their_scheduling():
    """20,000 executions at 1 ms are 20 s, compared with 50 s of execution."""
    run = {
        "executions": 20_000,
        "busy_s": 50.0,
        "median_s": 0.002,
        "commonest_prefix": "getitem",
        "commonest_executions": 15_000,
        "commonest_median_s": 0.0015,
    }

    assert spoken("dask.short_tasks", run) == once(
        "medium",
        "Half of 20,000 executions last less than 2 ms. At 1 ms each, scheduling them costs "
        "40 % of the execution time. Most are getitem: 15,000 with a median of 1.5 ms.",
    )
    assert spoken("dask.short_tasks", run | {"median_s": 0.010}) == []
    assert spoken("dask.short_tasks", run | {"busy_s": 200.0}) == []
    assert spoken("dask.short_tasks", run, overhead=0.2) == []
    assert spoken("dask.short_tasks", run | {"executions": 999, "busy_s": 1.0}) == []
    assert spoken("dask.short_tasks", run | {"busy_s": 19.0})[0][0] == "high"


def test_transfers_that_take_long():
    run = {
        "busy_s": 100.0,
        "transfer_share": 0.25,
        "moving_s": 25.0,
        "moved_bytes": 5_000_000_000,
        "largest_source": "tcp://a:1",
        "largest_target": "tcp://b:1",
        "largest_bytes": 2_000_000_000,
    }

    assert spoken("dask.transfers", run) == once(
        "medium",
        "Transfers took 25 s, 25 % of the execution time. 4.66 GiB moved between workers and "
        "to clients, at 191 MiB/s. 1.86 of 4.66 GiB went from tcp://a:1 to tcp://b:1.",
    )
    assert spoken("dask.transfers", run | {"moving_s": 20.0, "transfer_share": 0.2}) == []
    assert (
        spoken("dask.transfers", run | {"moving_s": 101.0, "transfer_share": 1.01})[0][0] == "high"
    )


def test_memory_that_is_short():
    full = {"memory_peak_share": 0.8, "memory_peak_worker": "tcp://a:1"}
    spilled = {"spilled_bytes": 3_000_000, "spilling_workers": 2, **full}
    logged = {"pauses": 1, "memory_restarts": 2, "unmanaged_warnings": 3}

    assert spoken("dask.spilling", spilled) == once(
        "medium",
        "2 workers spilled 2.86 MiB of results to disk. The fullest, tcp://a:1, used 80 % of "
        "its memory limit.",
    )
    assert spoken("dask.spilling", spilled | {"spilled_bytes": 0}) == []
    assert spoken("dask.full_memory", full) == once(
        "medium",
        "Fullest worker used 80 % of its memory limit. Worker tcp://a:1. Dask pauses a worker "
        "at 80 % and ends it at 95 %.",
    )
    assert spoken("dask.full_memory", full | {"memory_peak_share": 0.79}) == []
    assert spoken("dask.full_memory", full | {"memory_peak_share": 0.95})[0][0] == "high"
    assert spoken("dask.memory_warnings", logged) == once(
        "high",
        "2 workers ended for using too much memory. The logs also have 1 pause of workers for "
        "lack of memory and 3 warnings of memory that Dask does not manage.",
    )
    only = {"pauses": 0, "memory_restarts": 0, "unmanaged_warnings": 1}
    said = "1 warning of memory that Dask does not manage."
    assert spoken("dask.memory_warnings", only) == once("low", said)
    assert spoken("dask.memory_warnings", only | {"unmanaged_warnings": 0}) == []


def test_workers_that_are_lost_or_silent():
    silent = {
        "registered_workers": 8,
        "silent_workers": 2,
        "silent_worker": "tcp://a:1",
        "silent_executed": 5,
    }

    assert spoken("dask.lost_workers", {"lost_workers": 1, "lost_worker": "tcp://b:1"}) == once(
        "high",
        "1 worker died before the last task ended. Worker tcp://b:1. Results held there were "
        "lost; Dask computes again what is needed.",
    )
    ((_, several),) = spoken("dask.lost_workers", {"lost_workers": 2, "lost_worker": "tcp://b:1"})
    assert several.startswith("2 workers died before the last task ended. For example tcp://b:1. ")
    assert spoken("dask.lost_workers", {"lost_workers": 0}) == []
    assert spoken("dask.silent_workers", silent) == once(
        "medium",
        "2 of 8 workers registered but recorded nothing. For example tcp://a:1. Only the "
        "scheduler recorded 5 executions there.",
    )
    ((idle, text),) = spoken("dask.silent_workers", silent | {"silent_executed": 0})
    assert idle == "low"
    assert text.endswith(" The scheduler saw no result from there.")
    assert spoken("dask.silent_workers", silent | {"silent_workers": 0}) == []
    assert spoken("dask.silent_workers", silent | {"silent_workers": 8})[0][0] == "high"


def test_failures_and_repeats():
    run = {
        "attempts": 200,
        "failed": 12,
        "failed_prefix": "score",
        "failed_prefix_failed": 8,
        "failed_error": "ValueError('no data')\nand a traceback",
        "failed_error_failed": 8,
        "failed_error_type": "ValueError",
        "failed_error_type_failed": 8,
        "busy_s": 100.0,
        "repeated": 3,
        "repeated_s": 6.0,
        "rescheduled": 0,
        "rescheduled_s": 0.0,
    }

    assert spoken("dask.failures", run) == once(
        "medium",
        "12 of 200 task attempts failed (6 %). 8 are of kind score with ValueError('no data').",
    )
    assert spoken("dask.failures", run | {"failed": 0}) == []
    assert spoken("dask.failures", run | {"failed": 21})[0][0] == "high"
    ((_, long),) = spoken("dask.failures", run | {"failed_error": "x" * 500})
    assert len(long) < 200
    assert spoken("dask.repeats", run) == once(
        "medium",
        "3 repeat executions took 6 % of the execution time. 0.1 of 1.7 min.",
    )
    assert spoken("dask.repeats", run | {"repeated_s": 5.0}) == []
    assert spoken("dask.repeats", run | {"repeated_s": 26.0})[0][0] == "high"


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        # (text, type, failures of this text, of this type) of 12
        (("OSError(5)", "OSError", 12, 12), " with OSError(5)"),
        (("E('at 3')", "E", 1, 12), " with E, for example E('at 3')"),
        (("E('at 3')", "E", 1, 7), " with E (7 of 12), for example E('at 3')"),
        (("E('at 3')", "E", 1, 6), " with E (6 of 12), for example E('at 3')"),
        (("1 error for M", None, 2, 12), " with for example 1 error for M"),
        (
            ("KilledWorker", "KilledWorker", 12, 12),
            " with KilledWorker: Dask gave up after the workers that ran them died",
        ),
        ((None, None, None, None), ""),
    ],
)
def test_failures_say_how_many_raised_what(errors: tuple[Any, ...], said: str):
    """What 12 failures raised, by the type of most of them."""
    names = ("error", "error_type", "error_failed", "error_type_failed")
    run = {"attempts": 12, "failed": 12, "failed_prefix": "load", "failed_prefix_failed": 12}
    run |= {f"failed_{name}": value for name, value in zip(names, errors, strict=True)}

    ((_, text),) = spoken("dask.failures", run)

    assert text == f"12 of 12 task attempts failed (100 %). All are of kind load{said}."


def test_rescheduled_executions_are_no_repeats():
    """Of 8 repeats in 16 s, 6 were rescheduled, in 10 s."""
    run = {
        "busy_s": 100.0, "repeated": 8, "repeated_s": 16.0, "rescheduled": 6, "rescheduled_s": 10.0,
    }  # fmt: skip

    assert spoken("dask.repeats", run) == once(
        "medium",
        "2 repeat executions took 6 % of the execution time. 0.1 of 1.7 min, without 6 "
        "rescheduled executions.",
    )
    assert spoken("dask.rescheduled", run) == once(
        "low",
        "6 executions ended with Reschedule. They took 0.17 of 1.7 min of execution time "
        "(10 %); the tasks ran again elsewhere.",
    )
    assert spoken("dask.repeats", run | {"repeated": 6, "repeated_s": 10.0}) == []
    assert spoken("dask.rescheduled", run | {"rescheduled_s": 5.0}) == []


def test_a_record_that_was_cut():
    run = {"processes": 4, "endless_processes": 4, "endless_since": START}
    run |= {"endless_process": "scheduler tcp://10.0.0.1:8786"}

    assert spoken("dask.cut_records", run) == once(
        "high",
        "4 of 4 captures have no end. For example, the record of scheduler "
        "tcp://10.0.0.1:8786 stops at 2026-11-22 12:00:00 UTC; what the run did later is not "
        "recorded.",
    )
    worker = {"endless_processes": 1, "endless_process": "worker tcp://10.0.0.2:1"}
    assert spoken("dask.cut_records", run | worker) == once(
        "low",
        "1 of 4 captures has no end. The record of worker tcp://10.0.0.2:1 stops at "
        "2026-11-22 12:00:00 UTC.",
    )
    assert spoken("dask.cut_records", run | {"endless_processes": 0}) == []


def test_interpreters_that_do_not_respond():
    assert spoken("dask.garbage_collection", {"gc_warnings": 4, "gc_worst_percent": 12.0}) == once(
        "low",
        "Garbage collection took up to 12 % of CPU time. The logs of workers and the "
        "scheduler have 4 warnings about it.",
    )
    assert spoken("dask.garbage_collection", {"gc_warnings": 4, "gc_worst_percent": 9.0}) == []
    loop = {"loop_warnings": 2, "loop_s": 7.5, "loop_worst_s": 4.5}
    assert spoken("dask.event_loop", loop) == once(
        "low",
        "An event loop did not respond for 4.5 s. The logs of workers and the scheduler have "
        "2 such warnings, 7.5 s together.",
    )
    assert spoken("dask.event_loop", loop | {"loop_worst_s": 2.9}) == []
    # symptoms: below each cause, however long they last
    assert spoken("dask.event_loop", loop | {"loop_worst_s": 30.0})[0][0] == "low"
    worst = {"gc_warnings": 4, "gc_worst_percent": 60.0}
    assert spoken("dask.garbage_collection", worst)[0][0] == "low"


def test_tasks_that_wait_for_files():
    run = {"io_busy_s": 100.0, "io_s": 50.0, "io_prefix": "load", "io_prefix_share": 0.5}
    run |= {"io_prefix_s": 40.0, "io_prefix_busy_s": 80.0}
    run |= {"io_prefix_bytes": 8_000_000, "io_prefix_beside_bytes": 0}

    assert spoken("dask.tasks_in_io", run) == once(
        "medium",
        "load tasks spent 50 % of their time in I/O. 40 s for 7.63 MiB, 80 % of the I/O time "
        "of all tasks.",
    )
    assert spoken("dask.tasks_in_io", run | {"io_prefix_s": 24.0}) == []
    ((severity, text),) = spoken(
        "dask.tasks_in_io",
        run | {"io_prefix_s": 51.0, "io_s": 51.0, "io_prefix_beside_bytes": 2_000_000},
    )
    assert severity == "high"
    assert text.endswith(" 1.91 of 7.63 MiB are counted while only they ran.")


def test_bytes_that_are_counted_and_not_traced():
    """3,400 of 3,500 MB are 97 %; of these 75 and 3,300 MB are known to be whose."""
    run = {
        "counted_bytes": 3_500_000_000,
        "traced_bytes": 100_000_000,
        "untraced_bytes": 3_400_000_000,
        "untraced_task_bytes": 75_000_000,
        "beside_bytes": 3_300_000_000,
        "unknown_bytes": 25_000_000,
        "io_prefix": "load",
        "io_prefix_beside_bytes": 3_300_000_000,
    }

    assert spoken("dask.untraced_io", run) == once(
        "low",
        "3.17 of 3.26 GiB of I/O counted but not traced (97 %). Of the untraced bytes, 2.2 % "
        "belong to known tasks; 97 % moved while only load ran in the process; 0.74 % have no "
        "known task.",
    )
    assert spoken("dask.untraced_io", run | {"untraced_bytes": 700_000_000}) == []
    assert spoken("dask.untraced_io", run, bytes=3.5e9) == []
    # where no process is known to be a worker, nothing else is
    none = {"untraced_task_bytes": None, "beside_bytes": None, "unknown_bytes": 3_400_000_000}
    ((_, text),) = spoken("dask.untraced_io", run | none)
    assert text.endswith("(97 %). Of the untraced bytes, 100 % have no known task.")


def test_of_several_runs_each_is_named():
    lost = {"lost_workers": 1, "lost_worker": None}

    said = [text for _, text in spoken("dask.lost_workers", lost, {"lost_workers": 0})]

    assert len(said) == 1
    assert said[0].startswith("R1: 1 worker died before the last task ended. ")


def hostile(kind: pl.DataType) -> Any:
    """A value as long as it may be: a name of 300 characters, a number of 10 digits."""
    if isinstance(kind, pl.Datetime):
        return START
    if isinstance(kind, pl.List):
        return [hostile(kind.inner)] * 3
    return {pl.String: "n" * 300, pl.Boolean: True, pl.Int64: 1_234_567_890}.get(
        kind.base_type(), 1234567890.123
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("run", ["/runs/R1", "/runs/" + "r" * 300])
def test_headlines_fit_whatever_the_numbers_and_names(rule, run):
    """Of chosen rows: what the rule says of them, whether or not its condition holds."""
    row = {name: hostile(kind) for name, kind in SCHEMA.items()} | {"run": run}
    thresholds = {name: threshold.value for name, threshold in rule.thresholds.items()}

    (found,) = rule.judge(indicators(row), 2, **thresholds)

    assert len(found.headline) <= 80
    # a name has one short form, or a still shorter one in a headline of all 80 characters
    assert found.headline.startswith(("R1: ", "rrrrrrr…rrrrrrrr: ")) or len(found.headline) == 80
    assert not found.headline.endswith((".", ";"))
    assert run.removeprefix("/runs/") in found.text
    assert len(f"next: {rule.advice} [{rule.name}]") <= 2 * 77


def test_a_run_of_which_nothing_is_known_is_not_judged():
    assert [rule.name for rule in RULES if spoken(rule.name, {})] == []
