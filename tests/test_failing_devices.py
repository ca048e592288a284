"""Devices that fail, quotas that end, and wrong clocks, as a preloaded library plays them."""

import errno
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import crash
import pytest
import small_inputs
from crash import Place
from datasets import Small, dump

import harvest
from harvest.pipeline.rollback import roll_back

pytestmark = pytest.mark.slow

FORMS = ("parquet", "jsonl", "file")
DAY_S = 86_400

Preloaded: TypeAlias = "Callable[..., dict[str, str]]"


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Preloaded:
    """Makes an environment in which a device or clock fails."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("there is no C compiler, or no Linux, to make a device fail by a library")
    library = tmp_path_factory.mktemp("device") / "failing_device.so"
    source = Path(__file__).parent / "support" / "failing_device.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)

    def environment(**variables: Any) -> dict[str, str]:
        return {"LD_PRELOAD": str(library), **{name: str(v) for name, v in variables.items()}}

    return environment


def run(small: Small, environment: dict[str, str]) -> tuple[int, list[str]]:
    """Harvest as a command; its exit code, and the lines that it said."""
    process = crash.start(small.words("--workers", "1"), **environment)
    _, said = process.communicate(timeout=120)
    return process.returncode, said.splitlines()


# --- inputs ---------------------------------------------------------------------------------------


def test_a_file_of_each_source_that_the_device_cannot_read_is_one_reject(
    preloaded: Preloaded, tmp_path: Path
) -> None:
    # given inputs of all sources, of each of which one lies on a bad block
    place = Place(tmp_path / "D", tmp_path / "in", ("jsonl:J",))
    small_inputs.write(place.inputs, 1)
    bad = {name: max(p for p in (place.inputs / name).iterdir() if p.suffix != ".txt"
                     or name == "slurm") for name in small_inputs.MAKERS}  # fmt: skip
    sound = Place(tmp_path / "sound", place.inputs, place.forms)
    sound.harvest()
    before = Counter(r["origin"] for r in harvest.open(sound.locations()[0]).rejects())

    # when they are harvested
    process = place.start(workers=1, **preloaded(
        DEVICE_FAILS="read", DEVICE_ERRNO=errno.EIO, DEVICE_PATHS=":".join(map(str, bad.values()))
    ))  # fmt: skip
    _, said = process.communicate(timeout=300)

    # then each is one reject with the reason, and all else is read
    assert process.returncode == 3, said
    found = list(harvest.open(place.locations()[0]).rejects())
    for path in map(str, bad.values()):
        (reason,) = (r["reason"] for r in found if r["origin"] == path)
        assert "Input/output error" in reason
    rest = Counter(r["origin"] for r in found if Path(r["origin"]) not in bad.values())
    assert rest == Counter({o: n for o, n in before.items() if Path(o) not in bad.values()})


# --- datasets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("operation", "kind", "after"),
    [("write", "EIO", 0), ("write", "EIO", 5_000), ("fsync", "EIO", 0),
     ("write", "EDQUOT", 0), ("write", "EDQUOT", 2_000), ("write", "EDQUOT", 9_000)],
)  # fmt: skip
def test_a_dataset_on_a_device_that_fails_is_as_it_was(
    form: str, operation: str, kind: str, after: int, preloaded: Preloaded, tmp_path: Path
) -> None:
    small = Small(tmp_path, form).write(a=dump(*range(20)))
    small.harvest()
    before = small.seen()
    small.write(a=dump(*range(20, 200)), b=dump(*range(200, 400)))
    number = getattr(errno, kind)

    status, said = run(small, preloaded(
        DEVICE_FAILS=operation, DEVICE_ERRNO=number, DEVICE_AFTER=after,
        DEVICE_PATHS=f"{small.location}",
    ))  # fmt: skip

    assert status == 1
    assert len(said) == 1, said
    assert os.strerror(number) in said[0]
    assert said[0].endswith("nothing of this run was committed")
    assert small.seen() == before
    assert small.open().verify() == []
    small.harvest()
    assert small.jobs() == [*range(20, 400)]


# --- clocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset_s", [-DAY_S, -3650 * DAY_S, 3650 * DAY_S])
def test_a_clock_that_is_set_loses_nothing(
    form: str, offset_s: int, preloaded: Preloaded, tmp_path: Path
) -> None:
    # given a dataset, and inputs that change while the clock is wrong
    small = Small(tmp_path, form).write(a=dump(1))
    small.harvest()
    small.write(a=dump(1, 2), b=dump(3))

    # when it is harvested by the wrong clock, and by the right one again
    status, said = run(small, preloaded(CLOCK_OFFSET_S=offset_s))
    assert status == 0, said
    assert small.jobs() == [1, 2, 3]
    small.write(b=dump(3, 4))
    small.harvest()

    # then nothing is missing, and each state can be gone back to, the last one first
    assert small.jobs() == [1, 2, 3, 4]
    assert small.open().verify() == []
    assert small.harvest().run is None
    roll_back(small.open().sink, small.manifest().kept[-1])
    assert small.jobs() == [1, 2, 3]
    assert small.open().verify() == []


@pytest.mark.parametrize("form", FORMS)
def test_inputs_from_the_future_are_read_again_when_they_change(form: str, tmp_path: Path) -> None:
    small = Small(tmp_path, form).write(a=dump(1))
    future = 4_102_444_800  # 2100-01-01
    for jobs in ((1,), (2,), (2, 3)):
        small.write(a=dump(*jobs))
        os.utime(small.inputs / "a.txt", (future, future))
        small.harvest()
        assert small.jobs() == list(jobs)
        assert small.harvest().run is None
