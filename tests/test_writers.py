"""Writers beside each other: each decides under the lock, by the state that is in force then.

Somebody else writes just before a writer has the lock; what it saw of the dataset until then is
of no account.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import EACH_FORM, Small, change_a_byte, dump

from harvest.dataset.repair import repair, replay
from harvest.errors import DatasetError
from harvest.pipeline.rollback import keep_runs, roll_back
from harvest.storage import target
from harvest.storage.history import read_state

Beside = Callable[[Callable[[], object]], None]


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Beside:
    """Has somebody else act when the next writer is about to take the lock."""
    ordinary = target.locked

    def arrange(act: Callable[[], object]) -> None:
        def late(*args: Any, **options: Any) -> Any:
            monkeypatch.setattr(target, "locked", ordinary)
            act()
            return ordinary(*args, **options)

        monkeypatch.setattr(target, "locked", late)

    return arrange


@pytest.fixture(params=EACH_FORM)
def small(tmp_path: Path, request: Any) -> Small:
    """Two dumps, harvested; then one of them changed, and harvested."""
    small = Small(tmp_path, request.param).write(a=dump(1, 2), b=dump(3, damaged=1))
    small.harvest(keep_runs=5)
    small.write(a=dump(1, 2, 4, 5, 6), b=dump(7, damaged=1)).harvest()
    return small


def actions(small: Small) -> list[str]:
    return [run["action"] for run in small.open().runs()]


def test_a_repair_leaves_rows_alone_that_a_rollback_has_put_back(
    small: Small, beside: Beside
) -> None:
    # given damage in the state in force, and that the inputs of the state before have changed
    first = small.manifest().runs[0]
    for path in small.files():
        change_a_byte(path)

    # when somebody goes back to that state as a repair begins
    beside(lambda: roll_back(small.open().sink, first))
    done = repair(small.location)

    # then there is nothing to be read again
    assert done.result is None
    assert small.jobs() == [1, 2, 3]
    assert actions(small) == ["run", "run", "rollback"]
    assert first in small.manifest().kept


def test_a_repair_keeps_the_state_before_it(small: Small) -> None:
    # given rows that are damaged, of inputs that have changed, and others that are not
    run = small.manifest().run
    first = small.manifest().runs[0]
    (small.state / "manifest.json").unlink()
    (rejects,) = (part.rejects for part in read_state(small.state, run) if part.rejected)
    (small.state / rejects.path).unlink()
    small.write(b=dump(8, damaged=1))

    # when these are read again, then the states before are there, so far as they are whole
    done = repair(small.location)
    assert done.result is not None
    assert small.jobs() == [1, 2, 4, 5, 6, 8]
    assert first in small.manifest().kept
    roll_back(small.open().sink, first)
    assert small.jobs() == [1, 2, 3]


def test_a_manifest_that_somebody_else_has_restored_is_not_replaced_by_a_copy(
    small: Small, beside: Beside
) -> None:
    # given a manifest that is missing, and that is restored and written to as a repair begins
    (small.state / "manifest.json").unlink()

    def restore_and_run() -> None:
        assert repair(small.location).restored
        small.write(c=dump(9)).harvest()

    beside(restore_and_run)
    done = repair(small.location)

    assert not done.restored
    assert small.jobs() == [1, 2, 4, 5, 6, 7, 9]
    assert actions(small) == ["run", "run", "run"]


def test_a_replay_puts_nothing_back_that_a_run_has_dropped(small: Small, beside: Beside) -> None:
    # given an input with rejects, which is away while a run drops what is gone
    def drop() -> None:
        away = (small.inputs / "b.txt").rename(small.folder / "b.txt")
        small.harvest(deleted="drop")
        away.rename(small.inputs / "b.txt")

    beside(drop)
    done = replay(small.open())

    assert (done.again.result, done.before, done.left) == (None, 0, 0)
    assert small.jobs() == [1, 2, 4, 5, 6]
    assert actions(small) == ["run", "run", "run"]


def test_a_run_drops_nothing_that_another_has_read_meanwhile(small: Small, beside: Beside) -> None:
    # given an input that comes, and is harvested, between a run's listing and its turn
    beside(lambda: small.write(c=dump(9)).harvest())

    small.harvest(deleted="drop", force=True)

    assert small.jobs() == [1, 2, 4, 5, 6, 7, 9]


def test_a_state_that_is_kept_no_more_is_not_gone_back_to(small: Small, beside: Beside) -> None:
    first = small.manifest().runs[0]
    beside(lambda: keep_runs(small.open().sink, 0))

    with pytest.raises(DatasetError, match=f"the state that run {first} left was not kept"):
        roll_back(small.open().sink, first)

    assert small.jobs() == [1, 2, 4, 5, 6, 7]


def test_as_many_states_are_kept_as_told_of_those_there_are_then(
    small: Small, beside: Beside
) -> None:
    beside(lambda: small.write(c=dump(9)).harvest())

    keep_runs(small.open().sink, 1)

    runs = small.manifest().runs
    assert (len(runs), small.manifest().kept) == (3, runs[1:2])
    assert small.jobs() == [1, 2, 4, 5, 6, 7, 9]
