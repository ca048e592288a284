"""Real harvests into every form of dataset, killed at any instant.

A dataset with two commits behind it is harvested a third time.  That run adds, replaces, drops and
rejects; it is killed, at each fault point or, with every source, at a random instant, and then run
again.  Afterwards the datasets must equal those of a run that nobody disturbed.
"""

import random
import re
import time
from itertools import product
from pathlib import Path
from typing import Any

import crash
import pytest
from crash import Place
from night import NIGHT, SEED

pytestmark = pytest.mark.slow

KILLS = 200 if NIGHT else 4
LIVES = 4
"""Kills of one dataset before a run is let through."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: Any) -> Place:
    """Of three sources: steps of a run are the same for all."""
    return crash.with_two_commits(tmp_path_factory.mktemp("crash"), "mofka-dask", "slurm", "gpfs")


@pytest.fixture(scope="module")
def expected(base: Place, tmp_path_factory: Any) -> dict[str, Any]:
    return undisturbed(base, tmp_path_factory.mktemp("undisturbed") / "D")


def undisturbed(base: Place, folder: Path) -> dict[str, Any]:
    """What the third run makes of them when it is left alone."""
    place = base.copy(folder)
    result = place.harvest()
    kinds = result.account.sources
    assert set(kinds) == {path.name for path in base.inputs.iterdir()}
    assert all(account.balanced and account.partitions for account in kinds.values())
    assert result.dropped
    assert result.account.rejected
    return crash.contents(place)


@pytest.fixture
def place(base: Place, tmp_path: Path) -> Place:
    """A copy of them, for one test to harvest."""
    return base.copy(tmp_path / "D")


def complete(place: Place, expected: dict[str, Any], **options: Any) -> None:
    """Run again, undisturbed; then everything must be as if nothing had happened."""
    crash.check_readable(place)
    before = crash.finished(place)
    result = place.harvest(**options)
    crash.check_nothing_read_twice(before, result)
    crash.check_equal(place, expected)


# --- at every named step --------------------------------------------------------------------------

PER_DATASET = ("commit.", "segment.", "manifest.", "tidy.", "kept.", "history.")
"""Steps that a run passes once or more for each of its three datasets."""

AFTER_A_KILL = ("recover.move_back", "file.remove")
"""Steps that only a run after a killed one passes."""

ELSEWHERE = ("rollback.",)
"""Steps of other commands, which test_history.py kills."""


def passes() -> list[tuple[str, int]]:
    names = [n for n in crash.fault_points() if n not in AFTER_A_KILL]
    once = [n for n in names if not n.startswith(PER_DATASET + ELSEWHERE)]
    thrice = [n for n in names if n.startswith(PER_DATASET)]
    return [*product(once, [1]), *product(thrice, [1, 2, 3])]


@pytest.mark.parametrize(("point", "number"), passes())
def test_a_kill_at_a_fault_point(
    point: str, number: int, place: Place, expected: dict[str, Any]
) -> None:
    workers = 2 if point.startswith("partition.") else 1

    assert crash.killed_at(place.start(workers=workers, HARVEST_FAULT=f"{point}:{number}"))

    complete(place, expected)


@pytest.mark.parametrize("point", [*AFTER_A_KILL, "recover.begun", "recover.finished"])
def test_a_kill_of_the_run_that_follows_a_killed_one(
    point: str, place: Place, expected: dict[str, Any]
) -> None:
    # the second or the last dataset is published but not committed
    number = 2 if point == "recover.move_back" else 3
    assert crash.killed_at(place.start(workers=1, HARVEST_FAULT=f"commit.published:{number}"))

    assert crash.killed_at(place.start(workers=1, HARVEST_FAULT=f"{point}:1"))

    complete(place, expected)


# --- at random instants ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_all(tmp_path_factory: Any) -> tuple[Place, dict[str, Any], float]:
    """Datasets of every source, what an undisturbed run makes of them, and its seconds."""
    place = crash.with_two_commits(tmp_path_factory.mktemp("all"))
    begun = time.monotonic()
    expected = undisturbed(place, tmp_path_factory.mktemp("undisturbed") / "D")
    return place, expected, time.monotonic() - begun


@pytest.mark.parametrize("life", range(-(-KILLS // LIVES)))
def test_kills_at_random_instants(
    life: int, of_all: tuple[Place, dict[str, Any], float], tmp_path: Path
) -> None:
    base, expected, working_time = of_all
    rng = random.Random(f"{SEED} {life}")
    print(f"HARVEST_NIGHT={SEED}")
    place = base.copy(tmp_path / "D")
    kills = 0
    while kills < min(LIVES, KILLS - life * LIVES):
        instant = rng.uniform(0, working_time)
        process = place.start(workers=1 + life % 2)
        crash.wait_for_lock(process, place.states()[0])
        time.sleep(instant)
        crash.kill_group(process)
        if crash.killed_at(process):
            print(f"killed {instant:.3f} s after the lock of {working_time:.3f}")
            crash.check_readable(place)
            kills += 1
        else:  # it was through already: that life is over, begin another
            crash.check_equal(place, expected)
            place = base.copy(tmp_path / f"D{rng.random()}")

    complete(place, expected)


# --- asked to stop, and workers that are lost -----------------------------------------------------


WHERE_ASKED = ("run.planned", "partition.rows", "partition.done", "commit.published", "commit.kept")


@pytest.mark.parametrize(("point", "what"), [*product(WHERE_ASKED, ("int", "term"))])
def test_a_run_that_is_asked_to_stop(
    point: str, what: str, base: Place, place: Place, expected: dict[str, Any]
) -> None:
    process = place.start(HARVEST_FAULT=f"{point}:1:{what}")
    _, said = process.communicate(timeout=120)

    assert process.returncode == 130, said
    *progress, last = said.splitlines()
    assert last == "harvest: interrupted; earlier commits are intact, run again to continue"
    assert all(" partitions, " in line for line in progress)  # on a machine that is slow
    # no process of it is left, no work half done, and readers of the directories see one state
    crash.wait_until_gone(process)
    for state in place.states():
        assert all(any(d.glob("_part*.json")) for d in (state / "staging").iterdir())
    assert crash.contents_seen(place) == crash.contents_seen(base)
    complete(place, expected)


@pytest.mark.parametrize("what", ["int", "term"])
def test_a_run_that_is_asked_to_stop_when_all_is_committed(
    what: str, place: Place, expected: dict[str, Any]
) -> None:
    process = place.start(workers=1, HARVEST_FAULT=f"manifest.after_rename:3:{what}")
    _, said = process.communicate(timeout=120)

    assert process.returncode == 3, said  # done, with rejects
    crash.check_equal(place, expected)


@pytest.mark.parametrize("point", ["partition.begun:2", "partition.staged:1"])
def test_a_worker_that_the_memory_killer_takes(
    point: str, base: Place, place: Place, expected: dict[str, Any]
) -> None:
    process = place.start(HARVEST_FAULT=f"{point}:die")
    _, said = process.communicate(timeout=120)

    assert process.returncode == 1, said
    assert "a worker process was killed" in said
    assert "finished partitions are kept" in said
    assert crash.contents_seen(place) == crash.contents_seen(base)
    complete(place, expected)


def test_every_fault_point_is_in_the_page_on_reliability() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reliability.md").read_text()
    table = page.partition("| point | step |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z_]+\.[a-z_]+)`", table)) == set(crash.fault_points())
