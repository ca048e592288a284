"""Whole columns are read as one value at a time would be, and as the field's own words mean.

Each property makes a value, spells it as sacct does, and compares what is read with an
independent computation of the value.
"""

from datetime import UTC as UTC_ZONE
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harvest_slurm.read.columns import Column
from harvest_slurm.values import scalars
from harvest_slurm.values.convert import Context, Converted, convert
from harvest_slurm.values.ids import read_ids


def read(kind: str, texts: list[str], zone: str = "UTC", *, cut: bool = False) -> Converted:
    return convert(kind, Column(pa.array(texts, pa.string())), Context(ZoneInfo(zone), cut=cut))


def values(kind: str, texts: list[str], zone: str = "UTC") -> list[Any]:
    found = read(kind, texts, zone)
    assert found.errors is None
    return found.values[""].to_pylist()


# --- durations -----------------------------------------------------------------------------


def spell_duration(micros: int, digits: int) -> str:
    """As Slurm's secs2time_str and its CPU counterpart print it."""
    seconds, rest = divmod(micros, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    fraction = f".{rest:06}"[: digits + 1] if digits else ""
    if days:
        return f"{days}-{hour:02}:{minute:02}:{second:02}{fraction}"
    if hour or not digits:
        return f"{hour:02}:{minute:02}:{second:02}{fraction}"
    return f"{minute:02}:{second:02}{fraction}"


durations = st.tuples(
    st.one_of(st.integers(0, 7200), st.integers(0, 86_400 * 12_000)),
    st.integers(0, 999_999),
    st.sampled_from([0, 3, 6]),
)


@given(st.lists(durations, max_size=40))
@example([(86_400 * 365, 0, 0), (86_400 * 1234 + 1, 500_000, 3), (59, 999_000, 3)])
def test_durations(made: list[tuple[int, int, int]]) -> None:
    texts, expected = [], []
    for seconds, micros, digits in made:
        shown = micros if digits == 6 else micros // 1000 * 1000 if digits else 0
        texts.append(spell_duration(seconds * 1_000_000 + micros, digits))
        expected.append(float(Fraction(seconds * 1_000_000 + shown, 1_000_000)))
    assert values("duration", texts) == expected


def test_duration_words_are_kept() -> None:
    found = read("duration", ["UNLIMITED", "Partition_Limit", "INVALID", "", "365-00:00:00"])
    assert found.values[""].to_pylist() == [None, None, None, None, 31_536_000.0]
    assert found.words is not None
    assert found.words.to_pylist() == ["UNLIMITED", "Partition_Limit", "INVALID", None, None]
    assert found.errors is None


@given(st.lists(st.timedeltas(timedelta(0), timedelta(days=9999)), min_size=1, max_size=9))
def test_durations_as_pandas_writes_them(made: list[timedelta]) -> None:
    def spelt(value: timedelta) -> str:
        clock = str(timedelta(seconds=value.seconds, microseconds=value.microseconds))
        return f"{value.days} days {clock.zfill(8) if '.' not in clock else clock.zfill(15)}"

    assert values("duration", [spelt(value) for value in made]) == [
        value.total_seconds() for value in made
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("x", "1-2", "1:2:3:4", "-1:00:00", "00:00:00x", "+1:00:00"),
        *("-1 days +23:59:59", "1 days", "0 days 5:00:00:00"),
    ],
)
def test_what_is_no_duration_is_an_error(text: str) -> None:
    found = read("duration", ["00:00:01", text])
    assert found.values[""].to_pylist() == [1.0, None]
    assert found.errors is not None
    assert "no duration" in found.errors[1].as_py() or "days need" in found.errors[1].as_py()


# --- memory --------------------------------------------------------------------------------

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**10),
            st.sampled_from(["", ".0", ".5", ".05", ".99", ".824"]),
            st.sampled_from(sorted(UNITS)),
        ),
        max_size=40,
    )
)
def test_memory(made: list[tuple[int, str, str]]) -> None:
    texts, expected, words = [], [], []
    for whole, fraction, unit in made:
        texts.append(f"{whole}{fraction}{unit}")
        exact = Fraction(f"{whole}{fraction or '.0'}") * UNITS[unit]
        rounded = int(exact + Fraction(1, 2))
        beyond = exact > 2**63 - 1
        expected.append(None if beyond else rounded)
        words.append(texts[-1] if beyond else None)
    found = read("memory", texts)
    assert found.errors is None
    assert found.values[""].to_pylist() == expected
    assert (found.words.to_pylist() if found.words is not None else [None] * len(texts)) == words


def test_memory_that_is_none() -> None:
    found = read("memory", ["16?", "18446744073709551614", "", "0", "10808.05M"])
    assert found.values[""].to_pylist() == [None, None, None, 0, round(10808.05 * 2**20)]
    assert found.words is not None
    assert found.words.to_pylist()[:2] == ["16?", "18446744073709551614"]


@pytest.mark.parametrize(
    "text", ["K", "5KK", "-5K", "+5K", "1e5", "1Mx", "Me", "inf", "5 K", "5k5", "٣K"]
)
def test_what_is_no_size_is_an_error(text: str) -> None:
    for beside in ("4K", "4M", "4"):
        found = read("memory", [beside, text])
        assert found.values[""].to_pylist()[1] is None
        assert found.errors is not None
        assert found.errors[1].as_py()


@pytest.mark.parametrize(
    ("text", "size", "per"),
    [
        ("4000Mc", 4000 * 2**20, "cpu"),
        ("4Gn", 4 * 2**30, "node"),
        ("0n", 0, "node"),
        ("1Me", 2**20, None),
        ("10M", 10 * 2**20, None),
        ("2T", 2 * 2**40, None),
        ("1.50G", 3 * 2**29, None),
    ],
)
def test_requested_memory(text: str, size: int, per: str | None) -> None:
    found = read("reqmem", [text, text, ""])
    assert found.values[""].to_pylist() == [size, size, None]
    assert found.values["per"].to_pylist() == [per, per, None]


# --- times ---------------------------------------------------------------------------------

moments = st.integers(0, 4_000_000_000)
zones = st.sampled_from(["UTC", "Europe/Zurich", "America/New_York", "Asia/Kolkata"])


@pytest.mark.slow
@given(
    st.lists(st.tuples(moments, st.sampled_from(["local", "epoch", "offset"])), max_size=30), zones
)
def test_times(made: list[tuple[int, str]], zone: str) -> None:
    texts, expected = [], []
    for seconds, style in made:
        moment = datetime(1970, 1, 1, tzinfo=UTC_ZONE) + timedelta(seconds=seconds)
        local = moment.astimezone(ZoneInfo(zone))
        if style == "epoch":
            texts.append(str(seconds))
        elif style == "offset":
            texts.append(local.strftime("%Y-%m-%dT%H:%M:%S%z"))
        else:
            texts.append(local.strftime("%Y-%m-%dT%H:%M:%S"))
            if local.fold:  # of an hour that occurs twice the first one is taken
                moment = local.replace(fold=0).astimezone(UTC_ZONE)
        expected.append(moment)
    assert values("time", texts, zone) == expected


@pytest.mark.parametrize(
    "text",
    ["2024-02-30T00:00:00", "2024-13-01T00:00:00", "yesterday", "03:28:42", "21 Nov 03:28"],
)
def test_what_is_no_time_is_an_error(text: str) -> None:
    found = read("time", ["2024-01-01T00:00:00", text])
    assert found.values[""].null_count == 1
    assert found.errors is not None
    assert found.errors[1].as_py()


# --- states, exit codes, numbers -------------------------------------------------------------


@given(st.sampled_from(scalars.STATES), st.one_of(st.none(), st.integers(0, 2**31)))
def test_states(name: str, uid: int | None) -> None:
    text = name if uid is None else f"{name} by {uid}"
    found = read("state", [text])
    assert found.values[""].to_pylist() == [name.lower()]
    assert found.values["by"].to_pylist() == [None if uid is None else str(uid)]


@given(st.integers(0, 255), st.integers(0, 126))
def test_exit_codes(code: int, signal: int) -> None:
    found = read("exit", [f"{code}:{signal}", ""])
    assert found.values[""].to_pylist() == [code, None]
    assert found.values["signal"].to_pylist() == [signal, None]


@given(st.lists(st.integers(0, 2**64), max_size=20))
def test_integers(numbers: list[int]) -> None:
    found = read("int", [str(number) for number in numbers])
    assert found.errors is None
    assert found.values[""].to_pylist() == [n if n < 2**63 else None for n in numbers]


# --- resources -------------------------------------------------------------------------------

keys = st.sampled_from(["cpu", "mem", "node", "billing", "gres/gpu", "gres/gpu:a100", "fs/disk"])
amounts = st.tuples(st.integers(0, 10**9), st.sampled_from(["", "K", "M", "G"]))


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.dictionaries(keys, amounts, min_size=1)), max_size=20))
def test_resources(made: list[dict[str, tuple[int, str]] | None]) -> None:
    texts = [
        ",".join(f"{key}={number}{unit}" for key, (number, unit) in (row or {}).items())
        for row in made
    ]
    expected = [
        None
        if row is None
        else [(key, number * UNITS[unit]) for key, (number, unit) in row.items()]
        for row in made
    ]
    assert values("tres", texts) == expected
    as_floats = [row and [(key, float(amount)) for key, amount in row] for row in expected]
    assert values("usage", texts) == as_floats


def test_resources_not_set_and_damaged() -> None:
    found = read("tres", ["energy=18446744073709551614,cpu=1", "cpu", "cpu=", "=4", "cpu=4=4", ""])
    assert found.values[""].to_pylist()[0] == [("energy", None), ("cpu", 1)]
    assert found.errors is not None
    assert [reason is None for reason in found.errors.to_pylist()] == [1, 0, 0, 0, 0, 1]


# --- ids -------------------------------------------------------------------------------------

numbers = st.integers(1, 2**31)
steps = st.one_of(
    st.none(), st.sampled_from(["batch", "extern", "interactive"]), st.integers(0, 9999).map(str)
)


@st.composite
def job_ids(draw: Any) -> tuple[str, dict[str, Any]]:
    number, step = draw(numbers), draw(steps)
    kind = draw(st.sampled_from(["plain", "task", "pending", "component"]))
    expected: dict[str, Any] = {"step": step}
    job = str(number)
    if kind == "task":
        task = draw(st.integers(0, 4_000_000))
        job += f"_{task}"
        expected |= {"array_job_id": number, "array_task_id": task}
    elif kind == "pending":
        tasks = draw(st.sampled_from(["1-4%2", "1,3,5-7", "0-99", "1-9:2"]))
        job += f"_[{tasks}]"
        expected |= {"array_job_id": number, "array_tasks": tasks, "step": None, "raw": number}
        step = None
    elif kind == "component":
        offset = draw(st.integers(0, 200))
        job += f"+{offset}"
        expected |= {"het_job_id": number, "het_offset": offset}
        if offset == 0:
            expected["raw"] = number
    else:
        expected["raw"] = number
    return (f"{job}.{step}" if step else job), expected | {"job": job}


@pytest.mark.slow
@given(st.lists(job_ids(), min_size=1, max_size=20))
def test_job_ids(made: list[tuple[str, dict[str, Any]]]) -> None:
    ids = read_ids(Column(pa.array([text for text, _ in made])))
    assert ids["error"].count() == 0
    keys = {"job_id": "job", "step_id": "step", "job_id_raw": "raw"}
    for name in ids.drop("is_step", "error").columns:
        expected = [wanted.get(keys.get(name, name)) for _, wanted in made]
        assert ids[name].to_list() == expected, name


@pytest.mark.parametrize(
    "text", ["", "x", "12x", "12_", "12+", "12_[", "12.", ".batch", "+12", "1 2"]
)
def test_what_is_no_job_id_is_an_error(text: str) -> None:
    first, error = read_ids(Column(pa.array(["7", text])))["error"]
    if text == "12_[":  # sacct cuts long lists of tasks
        return
    assert first is None
    assert error
