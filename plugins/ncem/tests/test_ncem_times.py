"""Times, durations and names as the experiment's tools write them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_ncem.config import NcemConfig
from harvest_ncem.durations import microseconds, seconds
from harvest_ncem.recognition import parse_name
from harvest_ncem.times import parse_times, zone_notes

PACIFIC = ZoneInfo("America/Los_Angeles")


def one(text: str, zone: str = "America/Los_Angeles"):
    parsed, _ = parse_times(pl.DataFrame({"text": [text]}), zone)
    return parsed["time"][0], parsed["reason"][0]


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2023-10-14T05:26:44Z", datetime(2023, 10, 14, 5, 26, 44, tzinfo=UTC)),
        ("2023-10-13 22:26:44.25-0700", datetime(2023, 10, 14, 5, 26, 44, 250000, tzinfo=UTC)),
        ("2023-12-13 09:45:14.123456789", datetime(2023, 12, 13, 17, 45, 14, 123456, tzinfo=UTC)),
        # clocks went back at 02:00: 01:30 came twice, the first time in daylight-saving time
        ("2023-11-05 01:30:00", datetime(2023, 11, 5, 8, 30, tzinfo=UTC)),
    ],
)
def test_a_time_in_any_form_is_one_instant(text, instant):
    assert one(text) == (instant, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2023-03-12 02:30:00", "does not exist in America/Los_Angeles"),
        ("2023-02-30T00:00:00Z", "no such date"),
        ("2023-10-14T25:00:00Z", "no such date or time of day"),
        ("2023-10-14T05:26:44+00:00+01:00", "two different zone offsets"),
        ("2023-10-14T05:26:44+19:00", "no such zone offset"),
        ("yesterday", "no ISO 8601 time"),
        ("2023-10-14", "no ISO 8601 time"),
        ("", "no ISO 8601 time"),
    ],
)
def test_what_is_no_instant_says_why(text, reason):
    time, said = one(text)
    assert time is None
    assert reason in said


def test_oddities_are_counted_and_told():
    texts = ["2023-10-13T16:34:04+00:00+00:00", "2023-11-05 01:30:00", "2023-10-13 09:45:14"]
    _, counts = parse_times(pl.DataFrame({"text": texts}), "America/Los_Angeles")
    assert counts == {"doubled": 1, "naive": 2, "twice": 1}
    notes = " ".join(zone_notes(counts, "America/Los_Angeles"))
    assert "2 times without a zone read as America/Los_Angeles" in notes
    assert "first occurrence" in notes
    assert "doubled" in notes


# around the clock changes of 2023, where mistakes would show
INSTANTS = st.one_of(
    st.datetimes(datetime(2000, 1, 1), datetime(2037, 12, 31)),
    st.datetimes(datetime(2023, 11, 5, 7), datetime(2023, 11, 5, 11)),
    st.datetimes(datetime(2023, 3, 12, 8), datetime(2023, 3, 12, 12)),
).map(lambda t: t.replace(tzinfo=UTC))


@given(st.lists(st.tuples(INSTANTS, st.sampled_from(["utc", "zone", "double", "naive"]))))
def test_times_agree_with_the_datetime_module(drawn):
    texts, expected = [], []
    for instant, form in drawn:
        local = instant.astimezone(PACIFIC)
        written = {
            "utc": instant.isoformat(),
            "zone": local.isoformat(),
            "double": instant.isoformat() + "+00:00",
            "naive": local.replace(tzinfo=None).isoformat(" "),
        }
        texts.append(written[form])
        expected.append(local.replace(fold=0).astimezone(UTC) if form == "naive" else instant)
    rows = pl.DataFrame({"text": texts}, {"text": pl.String})
    parsed, _ = parse_times(rows, "America/Los_Angeles")
    assert parsed["time"].to_list() == expected
    assert parsed["reason"].null_count() == len(drawn)


@given(st.datetimes(datetime(2023, 3, 12, 0), datetime(2023, 3, 12, 5)))
def test_skipped_local_times_are_refused(naive):
    # given a local time, it exists if the way to UTC and back leads to it again
    there = naive.replace(tzinfo=PACIFIC).astimezone(UTC)
    exists = there.astimezone(PACIFIC).replace(tzinfo=None) == naive
    time, reason = one(naive.isoformat())
    assert (time == there) if exists else ("does not exist" in reason)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("-27ms", -27_000),
        ("1.5s", 1_500_000),
        ("2m", 120_000_000),
        ("250us", 250),
        ("+1h", 3_600_000_000),
        ("00:29:00", 1_740_000_000),
        ("0", 0),
        (1.25, 1_250_000),
        (30, 30_000_000),
    ],
)
def test_durations_are_exact(text, micros):
    assert microseconds(text) == micros
    assert seconds(text) == pytest.approx(micros / 1e6, rel=1e-12)


@pytest.mark.parametrize("text", ["", "12", "1 day", "--1s", "0.5us", "soon", "1e3s", True, None])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError):
        microseconds(text)


def test_settings_are_checked_when_they_are_given():
    with pytest.raises(ValueError, match="timezone 'Mars/Olympus' is not a known IANA zone"):
        NcemConfig(timezone="Mars/Olympus")
    with pytest.raises(ValueError, match=r"clock_offset\.1: '27' is not a duration"):
        NcemConfig(clock_offset={"1": "27"})
    with pytest.raises(ValueError, match=r"clock_offset\.cern: no such clock"):
        NcemConfig(clock_offset={"cern": "1s"})


def test_an_offset_holds_for_a_receiver_or_else_for_its_site():
    config = NcemConfig(clock_offset={"1": "-27ms", "ncem": "1s", "nersc": "4ms"})
    assert [config.receiver_offset(n) for n in range(3)] == [1_000_000, -27_000, 1_000_000]
    assert config.site_offset("nersc") == 4_000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("4dstem_rec_status_3_scan_4728.json", {"kind": "status", "receiver": 3}),
        ("4dstem_rec_status_0_scan_4728_old.json", {"kind": "status", "receiver": 0}),
        ("data_scan0000004728_module12_001.data", {"kind": "data", "module": 12}),
        ("log_scan4728.txt", {"kind": "log"}),
        ("log_scan0000004728_module0.data", {"kind": "log"}),
        (
            "FOURD_231013_0945_02209_04728.h5",
            {"kind": "h5", "distiller_id": 2209, "stamp": "231013_0945", "suffix": None},
        ),
        ("FOURD_231013_0945_02209_04728_centered.h5", {"suffix": "centered", "uuid": None}),
        (
            "FOURD_231013_0945_02209_04728_0a1b2c3d-0001-4000-8000-00000000000f_centered.h5",
            {"uuid": "0a1b2c3d-0001-4000-8000-00000000000f", "suffix": "centered"},
        ),
    ],
)
def test_names_tell_what_a_file_is(name, expected):
    found = parse_name(name)
    assert found.scan_number == 4728
    for key, value in expected.items():
        assert getattr(found, key) == value


@pytest.mark.parametrize(
    "name",
    [
        "readme.txt",
        "4dstem_rec_status_x_scan_1.json",
        "data_scan_module1.data",
        "FOURD_1_2_3_4.h5",
        f"data_scan{'9' * 30}_module1.data",
    ],
)
def test_other_names_are_not_guessed(name):
    assert parse_name(name) is None
