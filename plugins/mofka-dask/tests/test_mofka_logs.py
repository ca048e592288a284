"""Logs of Dask as events; times by the declared zone, never the machine's."""

import re
from collections import Counter
from datetime import UTC, datetime

import pytest

from harvest import collect
from harvest_mofka_dask.read import logs
from harvest_mofka_dask.source import Config, MofkaDaskSource


def line(text: str, level: str = "INFO", stamp: str = "2024-04-19 19:01:36,147") -> str:
    return f"{stamp} - distributed.worker - {level} - {text}\n"


def harvest(tmp_path, text, name="worker.e", **settings):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = collect(MofkaDaskSource(str(path), Config(**settings)))
    assert (found.units or 0) == found.accounted
    return found


@pytest.mark.parametrize(
    ("text", "kind", "worker", "fields"),
    [
        ("Register worker <WorkerState 'tcp://10.0.0.1:36351', name: w1, status: init>",
         "registration", "tcp://10.0.0.1:36351", {"status": "init", "name": "w1"}),
        ("Register worker addr: tls://10.0.0.1:36351 name: w1", "registration",
         "tls://10.0.0.1:36351", {"name": "w1"}),
        ("Remove worker <WorkerState 'tcp://10.0.0.1:3', status: running, memory: 0> "
         "(stimulus_id='handle-worker-cleanup-1713553331.7')", "removal", "tcp://10.0.0.1:3",
         {"status": "running", "stimulus_id": "handle-worker-cleanup-1713553331.7"}),
        ("      Start worker at:   tcp://10.0.0.1:42845", "start", "tcp://10.0.0.1:42845", {}),
        ("        Start Nanny at: 'tcp://10.0.0.1:32835'", "start", None,
         {"nanny": "tcp://10.0.0.1:32835"}),
        ("              Threads:                          8", "threads", None,
         {"threads": "8"}),
        ("Stopping worker at tcp://10.0.0.1:3. Reason: scheduler-close", "stop",
         "tcp://10.0.0.1:3", {"reason": "scheduler-close"}),
        ("Receive client connection: Client-3c72562a", "client", None,
         {"client": "Client-3c72562a"}),
        ("Worker process 1234 was killed by signal 9", "death", None,
         {"pid": "1234", "signal": "9"}),
        ("Worker process died unexpectedly", "death", None, {}),
        ("Starting Worker plugin shuffle", "other", None, {}),
    ],
)  # fmt: skip
def test_kinds_workers_and_values(tmp_path, text, kind, worker, fields):
    (event,) = harvest(tmp_path, line(text)).rows("dask.log_event")
    assert (event["kind"], event["worker"], event["message"]) == (kind, worker, text)
    assert dict(event["fields"]) == {"logger": "distributed.worker", **fields}
    assert (event["source"], event["level"]) == ("worker", "info")
    assert event["time"] == datetime(2024, 4, 19, 19, 1, 36, 147_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("level", "kind"),
    [("WARNING", "warning"), ("ERROR", "error"), ("CRITICAL", "error"), ("DEBUG", "other")],
)
def test_a_line_of_no_known_kind_is_told_by_its_level(tmp_path, level, kind):
    (event,) = harvest(tmp_path, line("Oh.", level)).rows("dask.log_event")
    assert (event["kind"], event["level"]) == (kind, level.lower())


TRACE = "Traceback (most recent call last):\n  File x\n\nValueError: y\n"


def test_lines_without_a_time_belong_to_the_event_before(tmp_path):
    found = harvest(tmp_path, line("one") + TRACE + "\n\n" + line("two"))
    one, two = found.rows("dask.log_event")
    assert one["message"] == "one\n" + TRACE.rstrip()
    assert (one["position"], two["position"]) == (1, 8)
    assert found.folded == {"continuation line": 6}


def test_heads_of_other_versions_begin_an_event(tmp_path):
    """Before 2022 Dask logged no time; Coiled writes one without a dash behind it."""
    old = "distributed.worker - WARNING -  Compute Failed\nFunction:  f\n"
    coiled = "2024-03-20 13:12:00.360000 distributed.scheduler - ERROR - broadcast failed\n"
    found = harvest(tmp_path, line("one") + old + coiled)

    _, first, second = found.rows("dask.log_event")

    assert (first["time"], first["level"]) == (None, "warning")
    assert first["message"] == " Compute Failed\nFunction:  f"
    assert (second["level"], second["message"]) == ("error", "broadcast failed")
    assert (second["time"].minute, second["time"].microsecond) == (12, 360_000)


def test_lines_before_the_first_event_are_an_event_without_time(tmp_path):
    found = harvest(tmp_path, "\n/a/b.py:1: UserWarning: beware\n  warn()\n" + line("one"))
    first, _ = found.rows("dask.log_event")
    assert (first["time"], first["kind"], first["position"]) == (None, "warning", 2)
    assert first["message"].endswith("warn()")
    assert found.filtered == {"blank line": 1}


@pytest.mark.slow
def test_events_are_the_same_however_the_file_is_cut(tmp_path, monkeypatch):
    text = "".join(line(f"event {i}") + (TRACE if i % 3 else "") for i in range(40))
    whole = harvest(tmp_path, text)
    for size in (40, 100, 1000):
        monkeypatch.setattr("harvest_toolkit.lines.BLOCK_BYTES", size)
        assert harvest(tmp_path, text).rows("dask.log_event") == whole.rows("dask.log_event")


def test_an_endless_continuation_does_not_gather_without_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("harvest_toolkit.lines.BLOCK_BYTES", 1000)
    monkeypatch.setattr(logs, "EVENT_LINES", 50)
    found = harvest(tmp_path, line("one") + "more\n" * 1000 + line("two"))
    events = found.rows("dask.log_event")
    assert len(events) > 3
    assert sum(e["message"].count("\n") + 1 for e in events) == 1002
    assert events[-1]["message"] == "two"


def test_the_declared_zone_places_the_times(tmp_path):
    (event,) = harvest(tmp_path, line("x"), timezone="America/Chicago").rows("dask.log_event")
    assert event["time"] == datetime(2024, 4, 20, 0, 1, 36, 147_000, tzinfo=UTC)


def test_a_time_the_clock_skips_is_rejected_with_its_lines(tmp_path):
    text = line("x", stamp="2024-03-31 02:30:00,000") + "more\n" + line("y")
    found = harvest(tmp_path, text, timezone="Europe/Berlin")
    (reject,) = found.rejects
    assert reject.position == 1
    assert reject.raw.endswith(b"x\nmore")
    assert "not a time of the zone Europe/Berlin" in reject.reason
    assert len(found.rows("dask.log_event")) == 1


def test_an_impossible_date_is_rejected(tmp_path):
    found = harvest(tmp_path, line("x", stamp="2024-13-45 19:01:36,147"))
    assert "2024-13-45 19:01:36,147 is not a time" in found.rejects[0].reason
    assert "dask.log_event" not in found.tables


def test_a_time_the_clock_shows_twice_is_its_first_and_noted(tmp_path):
    found = harvest(tmp_path, line("x", stamp="2024-10-27 02:30:00,000"), timezone="Europe/Berlin")
    assert found.rows("dask.log_event")[0]["time"] == datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
    assert found.rows("dask.log_event")[0]["undecided_times"] == "time"
    assert found.notes[0].startswith("1 local time occurred twice in Europe/Berlin")


def test_the_order_of_a_log_decides_a_time_the_clock_shows_twice(tmp_path, monkeypatch):
    # given a log of an hour and a half, in which the clock goes from 2:59 back to 2:00
    stamps = [f"2024-10-27 {at}:00,000" for at in ("01:30", "02:10", "02:50", "02:20", "02:55")]
    text = "".join(line(f"event {n}", stamp=stamp) for n, stamp in enumerate(stamps))
    first = datetime(2024, 10, 26, 23, 30, tzinfo=UTC)
    for size in (10_000, 200):  # read at once, and a few lines at a time
        monkeypatch.setattr("harvest_toolkit.lines.BLOCK_BYTES", size)
        found = harvest(tmp_path, text, timezone="Europe/Berlin")
        rows = found.rows("dask.log_event")
        assert [(row["time"] - first).seconds // 60 for row in rows] == [0, 40, 80, 110, 145]
        assert [row["undecided_times"] for row in rows] == [None] * 5
        assert (found.notes, found.rejects) == ([], [])


def test_an_unknown_zone_is_refused_at_once():
    with pytest.raises(ValueError, match=r"not a known IANA zone; use a name such as UTC"):
        Config(timezone="Mars/Olympus")


def test_bytes_that_are_not_utf8_are_shown(tmp_path):
    # programs print any bytes into the logs of their workers
    log = line("caf\N{LATIN SMALL LETTER E WITH ACUTE}") + line("two")
    found = harvest(tmp_path, log.encode("latin-1") + b"\xff\xfe\n")
    assert not found.rejects
    one, two = (row["message"] for row in found.rows("dask.log_event"))
    assert one.endswith("caf\\xe9")
    assert two.endswith("two\n\\xff\\xfe")


def test_an_unfinished_last_line_is_kept_and_noted(tmp_path):
    found = harvest(tmp_path, line("one") + line("tw").rstrip("\n"))
    assert len(found.rows("dask.log_event")) == 2
    assert "no final newline" in found.notes[0]


def test_a_long_last_line_without_its_end_is_rejected_and_noted(tmp_path):
    found = harvest(tmp_path, line("one") + "x" * (9 * 1024 * 1024))
    assert [reject.position for reject in found.rejects] == [2]
    assert "no final newline" in found.notes[0]


def test_an_empty_log_is_noted(tmp_path):
    assert harvest(tmp_path, "").notes == ["worker.e is empty"]


def test_what_the_consumer_could_not_parse_is_kept_and_counted(tmp_path):
    text = (
        "data failure:  {'key': \"('array-1', 2)\", 'thr\n"
        "data failure:  line one\nline two\n\n\nTotal time taken  = 41.31s\n"
    )
    found = harvest(tmp_path, text, name="consumer.o")
    cut, two, total = found.rows("dask.log_event")
    assert cut["message"] == "{'key': \"('array-1', 2)\", 'thr"
    assert (cut["kind"], cut["level"], cut["source"]) == ("data_failure", "error", "consumer")
    assert two["message"] == "line one\nline two"
    assert (total["kind"], dict(total["fields"])) == ("other", {"total_time_s": "41.31"})
    assert found.notes == ["2 events could not be parsed by the consumer"]


@pytest.mark.parametrize("name", ["scheduler.e", "worker.e"])
def test_real_logs_agree_with_a_plain_reading(shared_data, name):
    folder = shared_data / "mofka-dask"
    if not folder.is_dir():
        pytest.skip("no Mofka-Dask samples")
    head = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - (\S+) - ([A-Z]+) - (.*)")
    for path in folder.glob(f"*/{name}"):
        expected = []
        for number, text in enumerate(path.read_text().splitlines(), 1):
            match = head.fullmatch(text)
            if match:
                stamp = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
                expected.append([number, stamp, match[3].lower(), match[4]])
            else:
                expected[-1][3] += "\n" + text
        found = collect(MofkaDaskSource(str(path)))
        assert [
            [e["position"], e["time"], e["level"], e["message"]]
            for e in found.rows("dask.log_event")
        ] == [[*rest, text.rstrip()] for *rest, text in expected]
        kinds = Counter(e["kind"] for e in found.rows("dask.log_event"))
        assert kinds["registration"] == 8
        assert kinds["death"] == path.read_text().count("died unexpectedly")


def test_a_line_longer_than_can_be_held_is_one_reject_and_counts_once(tmp_path):
    """Once it was cut into pieces, each a line, and the lines behind it had wrong numbers."""
    size = 9 * 1024 * 1024
    found = harvest(tmp_path, line("one") + "x" * size + "\n" + line("two"))
    (reject,) = found.rejects
    assert (reject.position, reject.record_type) == (2, "dask.log_event")
    assert reject.reason.startswith(f"a line of {size} bytes, more than ")
    events = found.rows("dask.log_event")
    assert [(event["position"], event["message"]) for event in events] == [(1, "one"), (3, "two")]
