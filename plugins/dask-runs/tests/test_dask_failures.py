"""What a failure was: by type, then by text; given up by Dask; rescheduled; and a cut record."""

from collections import Counter

import pytest
from dask_rows import A, B, at, attempt, dataset, one, ran, scheduler, window

from harvest_dask.records import types as r
from harvest_dask_runs.views.indicators import indicators
from harvest_dask_runs.views.kinds import prefixes


def erred(key: str, second: float, exception: str | None = None) -> r.TaskTransition:
    return scheduler(key, second, "processing>erred", prefix="load", exception=exception)


def logged(message: str, source: str = "worker") -> r.LogEvent:
    return r.LogEvent(message=message, kind="error", source=source, level="error")


def kind(*rows: r.Record) -> dict[str, object]:
    """The only row of ``dask.prefixes``."""
    return one(prefixes(dataset(*rows)))


def test_failures_are_counted_by_type_before_text():
    """Given twelve failures, each with a text of its own: seven of one type, five of two others."""
    texts = [f"KeyError('column_{n}')" for n in range(7)]
    texts += [f"FileNotFoundError(2, 'no /data/{n}.nc')" for n in range(3)]
    texts += ["<HTTPError 404: 'Not Found'>", "<HTTPError 403: 'Forbidden'>"]

    row = kind(*(erred(f"load-{n}", n, text) for n, text in enumerate(texts)))

    types = Counter(text.strip("<").replace("(", " ").split()[0] for text in texts)
    assert (row["failed"], row["error_type"], row["error_type_failed"]) == (
        12,
        *types.most_common(1)[0],
    )
    assert (row["error"], row["error_failed"]) == ("KeyError('column_0')", 1)


def test_texts_that_differ_in_numbers_alone_are_alike():
    """Given four texts of one type: three are alike, two of these the same; the fourth is not."""
    texts = ["E('at 0x7f01 in 2')", "E('at 0x7f02 in 13')", "E('at 0x7f02 in 13')", "E('a')"]

    row = kind(*(erred(f"load-{n}", n, text) for n, text in enumerate(texts)))

    assert (row["error"], row["error_failed"]) == ("E('at 0x7f02 in 13')", 2)
    assert (row["error_type"], row["error_type_failed"]) == ("E", 4)


def test_a_text_without_a_type_stands_for_itself():
    """pydantic's errors print no type."""
    texts = [f"{n} validation errors for Model\nx\n  field required" for n in (1, 2)]

    row = kind(*(erred(f"load-{n}", n, text) for n, text in enumerate(texts)))

    assert (row["error_type"], row["error_type_failed"], row["error"]) == (None, 2, texts[0])


@pytest.mark.parametrize(
    "raised",
    [ValueError('it\'s "both"'), ValueError("two\nlines"), ValueError("lone \ud800")],
    ids=ascii,
)
def test_a_text_in_a_log_is_as_python_prints_the_exception(raised: Exception):
    """Dask logs ``%r`` of ``repr(exception)``; older versions ``%r`` of the exception."""
    for printed in (repr(repr(raised)), repr(raised)):
        line = f"Compute Failed\nKey:       load-1\nState:     executing\nException: {printed}\n"

        row = kind(erred("load-1", 1), logged(line))

        assert row["error"] == repr(raised)
        assert row["error_type"] == type(raised).__name__


def test_a_text_in_a_log_that_is_cut_stays_as_it_is():
    row = kind(erred("load-1", 1), logged("Compute Failed\nKey: load-1\nException: \"E('a"))

    assert row["error"] == "\"E('a"


def test_what_dask_gave_up_is_known_from_the_schedulers_log():
    """Given three tasks of workers that died, one with a key that is a tuple; no exception."""
    keys = ["load-1", "('load', 2)", "load-3"]
    said = "marked as failed because {} workers died while trying to run it"
    lines = [
        logged(f"Task {key} {said.format(number)}", "scheduler") for number, key in enumerate(keys)
    ]

    row = kind(*(erred(key, second) for second, key in enumerate(keys)), *lines)

    assert (row["failed"], row["error_type"], row["error_type_failed"]) == (3, "KilledWorker", 3)


@pytest.mark.parametrize("left", ["rescheduled", "released"], ids=["hook", "log of the worker"])
@pytest.mark.parametrize("then", [A, B], ids=["there", "elsewhere"])
def test_an_execution_that_was_rescheduled_is_told_from_one_that_was_lost(left: str, then: str):
    """Of one task, 2 s until it was rescheduled, then 3 s; of another 1 s that was lost, then 1 s.

    Dask records no times of the first, whose window the worker's transitions give.
    """
    row = kind(
        *window("load-1", 0, 2, into=left),
        *window("load-1", 4, 7, then),
        attempt("load-1", None, None, status="rescheduled"),
        attempt("load-1", 4, 7, worker=then),
        ran("load-1", 7, then, 4, 7, thread=7, prefix="load"),
        *window("load-2", 0, 1, B),
        *window("load-2", 8, 9),
        ran("load-2", 1, B, 0, 1, thread=8, prefix="load"),
        ran("load-2", 9, A, 8, 9, thread=7, prefix="load"),
    )

    assert (row["executions"], row["repeated"], row["repeated_s"]) == (4, 2, 3.0)
    assert (row["rescheduled"], row["rescheduled_s"], row["total_s"]) == (1, 2.0, 7.0)


def process(role: str, address: str, last: float, end: float | None) -> r.Process:
    return r.Process(
        role=role,
        address=address,
        start_time=at(0),
        last_time=at(last),
        end_time=None if end is None else at(end),
        frames=3,
        cut_bytes=0,
    )


@pytest.mark.parametrize("whole", [True, False])
def test_workers_are_not_said_to_be_dead_where_the_schedulers_record_was_cut(whole: bool):
    """Given two workers without an end, one of which recorded a little longer."""
    rows = [
        process("scheduler", "tcp://s:1", 9, 10 if whole else None),
        *(process("worker", A, 3, None), process("worker", B, 9, 9)),
        *window("load-1", 1, 2),
        *window("load-2", 1, 8, B),
    ]

    row = one(indicators(dataset(*rows)))

    assert row["lost_workers"] == (1 if whole else 0)
    assert (row["processes"], row["endless_processes"]) == (3, 1 if whole else 2)
    assert row["endless_process"] == (f"worker {A}" if whole else "scheduler tcp://s:1")
    assert row["endless_since"] == at(3 if whole else 9)
