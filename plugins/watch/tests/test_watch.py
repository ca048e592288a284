"""Watching: whatever happens to the files meanwhile, the dataset is that of a fresh harvest."""

import shutil
import signal
import threading
import time

import orjson
import pytest
from clusters import eventually, rows_files
from datasets import SETTINGS, Small, dump
from watching import QUICK, UNTIL, Told, inputs_of, keep_watching, put

import harvest
from harvest.errors import ExitCode, SourceError, UsageError
from harvest.recipes.recipe import Endpoint, Recipe
from harvest.storage.lock import locked
from harvest_watch import changes, inputs
from harvest_watch.changes import network_file_system
from harvest_watch.loop import WatchOptions, watch


@pytest.fixture
def small(tmp_path):
    return Small(tmp_path).write(a=dump(1, 2), b=dump(3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deleted", "poll"),
    [pytest.param("keep", False, id="notified"), pytest.param("drop", True, id="polled")],
)
def test_whatever_happens_to_files_the_dataset_is_that_of_a_fresh_harvest(small, poll, deleted):
    if not poll:
        pytest.importorskip("watchfiles")

    def more_lines():
        with (small.inputs / "a.txt").open("a") as file:
            file.write(dump(7).partition("\n")[2])

    told = Told(
        lambda: put(small, "new", dump(4, 5)),
        more_lines,
        lambda: put(small, "b", dump(6)),
        lambda: (small.inputs / "new.txt").rename(small.inputs / "moved.txt"),
    )

    code = keep_watching(small, told, poll=poll, recipe={"deleted": deleted}, rounds=5, **UNTIL)

    assert code == ExitCode.DONE
    assert told.steps == []
    fresh = Small(small.folder / "fresh", "parquet")
    if deleted == "keep":  # a harvest of what ever was there
        (small.inputs / "new.txt").write_text(dump(4, 5))
    fresh.folder.mkdir()
    shutil.copytree(small.inputs, fresh.inputs)
    fresh.harvest()
    assert small.jobs() == fresh.jobs()
    manifest = small.manifest()
    assert len(manifest.runs) == len(told.results) == 5
    assert told.about("looking at" if poll else "watching")


@pytest.mark.slow
def test_nothing_is_committed_when_nothing_has_changed(small):
    small.harvest()
    before = (small.state / "manifest.json").read_bytes()
    told = Told()

    assert keep_watching(small, told) == ExitCode.DONE

    assert told.results == []
    assert (small.state / "manifest.json").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sink", "poll"),
    [
        pytest.param("parquet:in/out", False, id="notified"),
        pytest.param("jsonl:in/events.jsonl", True, id="polled"),
    ],
)
def test_its_own_output_neither_wakes_it_nor_is_read(small, sink, poll):
    name, _, place = sink.partition(":")
    told = Told(lambda: put(small, "new", dump(4)))

    code = keep_watching(small, told, sink=f"{name}:{small.folder / place}", poll=poll)

    assert code == ExitCode.DONE
    assert [result.account.written for result in told.results] == [3, 1]
    again = Told()
    keep_watching(small, again, sink=f"{name}:{small.folder / place}", poll=poll)
    assert again.results == []
    assert len(again.about("written by this watch")) == place.endswith(".jsonl")


def test_rejects_are_told_by_the_exit_code(small):
    small.write(c=dump(8, damaged=2))
    told = Told()
    assert keep_watching(small, told, rounds=1) == ExitCode.REJECTS
    assert told.results[0].account.rejected == 2


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_told_once_and_tried_again(small):
    packed = small.inputs / "z.txt.gz"
    packed.write_bytes(b"\x1f\x8b\x08\x00 cut short")
    told = Told(lambda: put(small, "c", dump(4)), lambda: packed.write_text(dump(5)))

    assert keep_watching(small, told, rounds=3, **UNTIL) == ExitCode.REJECTS

    assert [r.account.sources["slurm"].failed for r in told.results] == [1, 1, 0]
    assert len(told.about("kept as a reject")) == 1
    assert small.jobs() == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_a_directory_that_goes_away_is_told_once_and_watched_again_when_it_is_back(small):
    aside = small.folder / "aside"

    def back():
        aside.rename(small.inputs)
        small.write(c=dump(4))

    def noted(text):
        if "no such file" in text:
            told.later(back, 0.8)  # several rounds later

    told = Told(lambda: small.inputs.rename(aside), on_note=noted)

    assert keep_watching(small, told, rounds=2, **UNTIL) == ExitCode.DONE

    assert len(told.about("no such file")) == 1
    assert len(told.about("it can be read again")) == 1
    assert small.jobs() == [1, 2, 3, 4]


def test_a_source_that_fails_does_not_hold_up_another(small):
    missing = str(small.folder / "missing")
    recipe = {"sources": (Endpoint("slurm", missing), Endpoint("slurm", str(small.inputs)))}
    whole = Recipe(
        **recipe, sinks=(Endpoint("parquet", str(small.location)),), settings=SETTINGS, workers=1
    )
    told = Told()

    assert watch(whole, WatchOptions(**QUICK), told) == ExitCode.FAILED

    assert small.jobs() == [1, 2, 3]
    assert len(told.about("missing: no such file")) == 1


def test_a_dataset_that_another_run_writes_is_waited_for(small):
    small.state.mkdir(parents=True)
    told = Told(on_note=lambda text: release.set() if "another run" in text else None)
    release = threading.Event()
    held = threading.Event()

    def hold():
        with locked(small.state):
            held.set()
            release.wait(30)
            told.later(lambda: None, 0.6)
            told.timers[-1].join()

    other = threading.Thread(target=hold)
    other.start()
    held.wait(30)
    try:
        assert keep_watching(small, told, rounds=1, **UNTIL) == ExitCode.DONE
    finally:
        release.set()
        other.join()

    assert len(told.about("another run is writing this dataset")) == 1
    assert small.jobs() == [1, 2, 3]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limit": 3}, "limit"),
        ({"changed": "list"}, "changed"),
        ({"since": "last-7d"}, "write a number of days"),
        ({"sinks": ()}, "no sink"),
        ({"settings": {"slurm": {"timezone": "Mars/Olympus"}}}, "Mars"),
    ],
)
def test_wrong_usage_ends_it_at_once(small, change, words):
    recipe = {
        "sources": (Endpoint("slurm", str(small.inputs)),),
        "sinks": (Endpoint("parquet", str(small.location)),),
        **change,
    }
    with pytest.raises(UsageError, match=words):
        watch(Recipe(**recipe), WatchOptions())


def test_the_watched_directory_cannot_itself_be_the_sink(small):
    with pytest.raises(UsageError, match="within it or next to it"):
        keep_watching(small, sink=f"parquet:{small.inputs}")


def test_an_unnamed_source_must_be_there_to_be_recognised(tmp_path):
    whole = Recipe(
        sources=(Endpoint(None, str(tmp_path / "no")),), sinks=(Endpoint("parquet", "out"),)
    )
    with pytest.raises(SourceError, match="no such file"):
        watch(whole, WatchOptions())


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, monkeypatch):
        self.now = 1_000.0
        monkeypatch.setattr(inputs.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(inputs.time, "time", lambda: 1.8e9 + self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class Growing:
    """A file that grows by the test's clock; other paths are as they are."""

    def __init__(self, path, clock, monkeypatch):
        self.path, self.clock = path, clock
        self.size = self.written = 0
        path.touch()
        stamp = inputs._stamp
        monkeypatch.setattr(
            inputs, "_stamp", lambda p: self.stamp() if p == str(path) else stamp(p)
        )

    def grow(self):
        self.size += 1
        self.written = int((1.8e9 + self.clock.now) * 1e9)

    def stamp(self):
        return (self.size, self.written, 0, 1), self.path.stat()


def test_a_file_that_is_being_written_is_left_until_it_rests(tmp_path, clock, monkeypatch):
    log = Growing(tmp_path / "log", clock, monkeypatch)
    watched, path = inputs_of(tmp_path), str(log.path)
    for _ in range(3):
        log.grow()
        assert watched.look()
        assert watched.leave([path], 60) == {path}
        watched.take({path})
        assert watched.due_at(60) == clock.now + 2
        clock.now += 1
    clock.now += 1.5

    assert not watched.look()

    assert watched.due_at(60) <= clock.now
    assert watched.leave([path], 60) == set()
    watched.take(())
    watched.look()
    assert watched.due_at(60) is None


def test_a_file_that_never_rests_is_read_when_patience_ends(tmp_path, clock, monkeypatch):
    log = Growing(tmp_path / "log", clock, monkeypatch)
    watched = inputs_of(tmp_path)
    left = []
    for _ in range(8):
        log.grow()
        watched.look()
        left.append(bool(watched.leave([str(log.path)], 5)))
        clock.now += 1
    assert left == [True] * 5 + [False] * 3


def test_a_file_that_arrives_while_a_round_is_planned_waits_for_the_next(tmp_path):
    watched = inputs_of(tmp_path, settle_s=60)
    watched.look()
    late = tmp_path / "late"
    late.write_text("x")

    left = watched.leave([str(late)], 600)
    watched.take(left)

    assert left == {str(late)}
    assert str(late) in set(watched.pending())


def test_files_behind_links_are_seen_by_a_list_of_all_and_a_loop_of_links_ends(tmp_path):
    there, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    (there / "loop").symlink_to(there)
    (there / "link").symlink_to(elsewhere)
    watched = inputs_of(there, settle_s=0)
    watched.look()
    watched.take(())
    assert watched.to_read() == set()

    (elsewhere / "file").write_text("x")
    watched.look()

    assert watched.to_read() is None
    assert set(watched.pending()) == {str(there / "link" / "file")}


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw shared:2 master:1 - nfs4 server:/home rw
31 22 0:41 / /scratch\\040space rw - lustre mds:/s rw
32 22 0:42 / /data/far rw - fuse.sshfs me@far:/ rw
33 30 0:43 / /home/here rw - xfs /dev/sdb rw
34 22 0:44 / /gone rw - nfs server:/x rw
35 22 8:2 / /gone rw - ext4 /dev/sdc rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/usr", None), ("/home/ann/in", "nfs4"), ("/homely", None),
        ("/scratch space/x", "lustre"), ("/data", "fuse.sshfs"), ("/data/near", None),
        ("/home/here/in", None), ("/gone/in", None),
    ],
)  # fmt: skip
def test_network_file_systems_are_told_by_their_mounts(tmp_path, path, kind):
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert network_file_system(path, str(tmp_path / "mountinfo")) == kind


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("network_file_system", "nfs4", "every 0.1 s (nfs4 does not notify)"),
        ("notifying", False, "watchfiles is not installed"),
    ],
)
def test_what_does_not_notify_is_polled_and_that_is_said(small, monkeypatch, name, found, said):
    monkeypatch.setattr(changes, name, lambda *_: found)
    told = Told(lambda: put(small, "c", dump(4)), lambda: put(small, "d", dump(5)))
    keep_watching(small, told, rounds=2, **UNTIL)
    assert told.about(said)
    assert len(told.results) == 2  # and no round more
    assert small.jobs() == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_signal_during_a_round_interrupts_it_and_the_next_run_completes(anywhere, tmp_path):
    folder, gate = tmp_path / "in", tmp_path / "gate"
    folder.mkdir()
    (folder / "a").write_text("one\n")
    (folder / "b").write_text(f"two\nhold {gate}\nthree\n")
    process = anywhere.start("watch", "-s", "paced:in", "-k", "jsonl:out", "--settle", 0)
    staging = tmp_path / "out" / "_harvest" / "staging"
    eventually(
        lambda: list(staging.glob("*/_part.json")) or process.poll() is not None,
        "the first file is staged",
    )

    process.send_signal(signal.SIGTERM)

    said = anywhere.end(process, code=130)
    assert "interrupted; earlier commits are intact" in said
    assert not (tmp_path / "out" / "_harvest" / "manifest.json").exists()
    gate.touch()
    anywhere.run("run", "-s", "paced:in", "-k", "jsonl:out")
    anywhere.run("run", "-s", "paced:in", "-k", "jsonl:fresh")
    assert rows_files(tmp_path / "out") == rows_files(tmp_path / "fresh")


@pytest.mark.slow
def test_a_signal_between_rounds_ends_it_after_a_last_one(anywhere, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a").write_text("one\n")
    process = anywhere.start(
        "watch", "-s", "paced:in", "-k", "jsonl:out", "--settle", 0, "--every", 600, "--json"
    )
    first_line = process.stdout.readline()  # the manifest is there before the round is done
    time.sleep(1)
    (folder / "b").write_text("two\nbad\n")

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == ExitCode.REJECTS, err
    first, last = [orjson.loads(line) for line in (first_line, *out.splitlines())]
    assert first["record_types"] == {"paced.line": 1}
    assert (last["sources"][0]["rejected"], last["exit_code"]) == (1, 3)
    assert err.splitlines()[-1] == "harvest: stopped after 2 rounds: 2 parts, 2 rows, 1 reject"
    assert harvest.open(tmp_path / "out").manifest.run == last["run"]
