"""A round of a watch costs what changed: it looks at and plans that, and nothing is missed."""

import os
import shutil
from pathlib import Path

import pytest
from archives import Archive
from datasets import Small, dump
from hypothesis import given
from hypothesis import strategies as st
from watching import QUICK, UNTIL, Told, inputs_of, keep_watching, put

from harvest.errors import ExitCode
from harvest.pipeline.rollback import roll_back
from harvest.pipeline.session import Session
from harvest.recipes.recipe import Endpoint, Recipe
from harvest.recipes.selection import selection_of
from harvest_watch import changes
from harvest_watch.inputs import Inputs, Ours
from harvest_watch.loop import WatchOptions, watch

pytestmark = pytest.mark.slow

notified = pytest.mark.skipif(not changes.notifying(), reason="watchfiles is not installed")


@pytest.fixture
def small(tmp_path):
    return Small(tmp_path).write(a=dump(1, 2), b=dump(3))


class Calls:
    """Counts what is asked of the file system below a directory."""

    def __init__(self, monkeypatch, directory):
        self.paths = []
        for name in ("stat", "lstat", "open", "scandir", "listdir"):
            self.record(monkeypatch, name, getattr(os, name), f"{directory}/")

    def record(self, monkeypatch, name, function, below):
        def call(path, *args, **options):
            if isinstance(path, str | os.PathLike) and f"{os.fspath(path)}/".startswith(below):
                self.paths.append((name, Path(path).name))
            return function(path, *args, **options)

        monkeypatch.setattr(os, name, call)


@notified
def test_a_round_asks_for_the_changed_file_alone(small, monkeypatch):
    (small.inputs / "old").mkdir()
    for number in range(2_000):
        (small.inputs / "old" / str(number)).touch()
    calls = Calls(monkeypatch, small.inputs)

    def change():
        calls.paths.clear()
        put(small, "new", dump(7))

    told = Told(change)

    # listening begins with a look at all, which must not come after the change
    monkeypatch.setattr(told, "later", lambda step: Told.later(told, step, 2.5))
    code = keep_watching(small, told, rounds=2, **UNTIL)

    assert code == ExitCode.DONE
    assert small.jobs() == [1, 2, 3, 7]
    assert {name for _, name in calls.paths} <= {"new.txt", "in"}
    assert not {"scandir", "listdir"} & {call for call, _ in calls.paths}


@pytest.mark.parametrize("poll", [False, True], ids=["notified", "polled"])
def test_a_round_plans_the_changed_files_alone(small, poll):
    told = Told(lambda: put(small, "new", dump(7)), lambda: put(small, "a", dump(8)))
    keep_watching(small, told, poll=poll, rounds=3, **UNTIL)
    planned = [[p.partition.id for p in each.plan.partitions] for each in told.results]
    assert planned == [["a.txt", "b.txt"], ["new.txt"], ["a.txt"]]
    assert small.jobs() == [8, 3, 7]


@pytest.mark.parametrize("poll", [False, True], ids=["notified", "polled"])
def test_a_file_that_changes_while_a_round_runs_is_found_in_the_next(small, monkeypatch, poll):
    commit = Session.commit
    names = ["late", "new"]

    def change_and_commit(session, listing, **more):
        if "new.txt" in {partition.id for partition in listing.partitions}:
            while names:
                put(small, names.pop(), dump(8 + len(names)))
        return commit(session, listing, **more)

    monkeypatch.setattr(Session, "commit", change_and_commit)
    told = Told(lambda: put(small, "new", dump(7)))

    keep_watching(small, told, poll=poll, until_idle_s=3)

    assert sorted(small.jobs()) == [1, 2, 3, 8, 9]
    listed = [partition.id for _, partition in told.results[-1].plan.listed]
    assert sorted(listed) == ["late.txt", "new.txt"]


@notified
def test_where_notifications_may_be_lost_all_is_looked_at(small, monkeypatch, tmp_path):
    (tmp_path / "queue").write_text("2")
    monkeypatch.setattr(changes, "_QUEUE", tmp_path / "queue")
    looks = []
    look = Inputs.look
    monkeypatch.setattr(Inputs, "look", lambda self: looks.append(1) or look(self))
    counts = []

    def change():
        counts.append(len(looks))
        put(small, "new", dump(7))

    told = Told(change)
    monkeypatch.setattr(told, "later", lambda step: Told.later(told, step, 2.5))

    keep_watching(small, told, rounds=2, **UNTIL)

    assert len(looks) > counts[0]
    assert small.jobs() == [1, 2, 3, 7]


@notified
def test_a_change_of_which_no_notification_came_is_found_by_the_next_look_at_all(
    small, monkeypatch
):
    monkeypatch.setattr(changes.Listening, "_hear", lambda self, paths: None)
    monkeypatch.setattr(changes.Listening, "heard", lambda self: set())
    told = Told(lambda: put(small, "new", dump(7)))

    keep_watching(small, told, look_every_s=1.0, rounds=2, **UNTIL)

    assert small.jobs() == [1, 2, 3, 7]


def test_after_another_run_wrote_to_the_dataset_a_round_lists_all(small):
    def go_back():
        roll_back(small.open().sink, small.manifest().runs[0])
        put(small, "new", dump(7))

    told = Told(lambda: put(small, "a", dump(8)), go_back)

    keep_watching(small, told, poll=True, rounds=3, **UNTIL)

    assert small.jobs() == [8, 3, 7]


@pytest.mark.parametrize("poll", [False, True], ids=["notified", "polled"])
def test_what_is_gone_leaves_the_dataset_where_that_is_wanted(small, poll):
    told = Told(lambda: (small.inputs / "a.txt").unlink())
    keep_watching(small, told, poll=poll, recipe={"deleted": "drop"}, rounds=2, **UNTIL)
    assert small.jobs() == [3]


def test_a_file_that_could_not_be_read_is_read_again_with_the_next_round(small, monkeypatch):
    packed = small.inputs / "z.txt.gz"
    packed.write_bytes(b"\x1f\x8b\x08\x00 cut short")
    told = Told(lambda: put(small, "new", dump(7)))

    keep_watching(small, told, poll=True, rounds=2, **UNTIL)

    planned = [p.partition.id for p in told.results[1].plan.partitions]
    assert planned == ["new.txt", "z.txt.gz"]


def test_files_that_are_read_together_are_read_without_one_that_is_gone(tmp_path):
    archive = Archive(tmp_path, "by directory").write(u__a="1", u__b="2", v__c="3")
    recipe = Recipe(
        sources=(Endpoint(None, str(archive.logs), str(archive.plugin)),),
        sinks=(Endpoint("parquet", str(archive.out)),),
        workers=1,
    )
    told = Told((archive.logs / "u" / "a").unlink)

    watch(recipe, WatchOptions(**{**QUICK, **UNTIL}, rounds=2, poll=True), told)

    assert {text for _, text in archive.texts()} == {"2", "3"}


def test_a_watch_since_a_day_leaves_earlier_ones_alone(tmp_path):
    for name in ("2026/11/2/old", "2026/11/3/new", "none"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    since = Recipe(since="2026-11-03")
    root = str(tmp_path)
    watched = Inputs(
        [root], Ours([], [root]), settle_s=0, enters=lambda: selection_of(since).enters
    )

    watched.look()
    watched.look_at([str(tmp_path / "2026/11/2/old"), str(tmp_path / "2026/11/2")])

    assert watched.to_read() == {str(tmp_path / "2026/11/3/new"), str(tmp_path / "none")}


# --- looking at what was notified, beside looking at all ------------------------------------------

NAMES = st.sampled_from(["a", "b", "u/a", "u/b", "u/v/a", "w/a"])
FOLDERS = st.sampled_from(["u", "u/v", "w", "x"])
CHANGES = st.one_of(
    st.tuples(st.just("write"), NAMES, st.integers(0, 9)),
    st.tuples(st.just("remove"), NAMES, st.none()),
    st.tuples(st.just("move"), FOLDERS, FOLDERS),
    st.tuples(st.just("take"), st.none(), st.none()),
)


def changed(root, kind, name, more):
    """Make a change; gives the paths that the file system notifies."""
    path = root / (name or "")
    if kind == "write" and not (root / name.partition("/")[0]).is_file():
        made = [parent for parent in path.parents if not parent.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * more)
        return [*made, path]
    if kind == "remove" and path.is_file():
        path.unlink()
        return [path]
    target = root / (more or "") if kind == "move" else path
    if kind == "move" and path.is_dir() and not target.exists() and target.parent.is_dir():
        if path in target.parents:
            return []
        path.rename(target)
        return [path, target]
    return []


@given(changes=st.lists(CHANGES, max_size=12))
def test_a_look_at_what_was_notified_sees_what_a_look_at_all_sees(tmp_path_factory, changes):
    root = tmp_path_factory.mktemp("root")
    some, everything = inputs_of(root), inputs_of(root)
    some.look()
    everything.look()
    heard = []
    for kind, name, more in changes:
        heard += changed(root, kind, name, more)
        if kind != "take":
            continue
        for each in (some, everything):
            each.look_at(map(str, heard)) if each is some else each.look()
            each.take(())
        heard = []
    some.look_at(map(str, heard))
    everything.look()
    assert set(some.pending()) == set(everything.pending())
    assert some.to_read() == everything.to_read()
    shutil.rmtree(root)
