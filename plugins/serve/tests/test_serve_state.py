"""What is shown is one commit, the latest; damage is told; the server ends and begins at will."""

import asyncio
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Server, harvest_served_here, serving, things, until

from harvest_serve.problems import Refused
from harvest_serve.work import Turns, run_in_turn

ROWS = "/api/out/tables/served.thing/rows?limit=1"


def harvest(*words: object) -> str:
    done = harvest_served_here(*words)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Iterator[tuple[Server, list[Path]]]:
    """A server of three datasets in folders of one name; each test changes its own and mends it."""
    folders = [tmp_path_factory.mktemp(name) for name in ("a", "b", "c")]
    locations = [things(folder, "20 1") for folder in folders]
    with serving(*locations) as server:
        yield server, locations


@pytest.mark.slow
def test_datasets_of_one_name_show_where_they_are(three):
    server, (first, second, _) = three
    listed = server.ask("/").text
    page = server.ask("/d/out-2/").text

    assert f"<strong>{first}</strong>" in listed
    assert f"<h1>{second}</h1>" in page
    assert str(first) not in page


@pytest.mark.slow
def test_a_new_commit_is_noticed_and_a_rollback_too(three):
    server, (location, *_) = three
    first = server.ask(ROWS).json
    things(location.parent, "20 1", "30 2")
    second = server.ask(ROWS).json
    harvest("rollback", location, first["commit"])
    third = server.ask(ROWS).json

    assert [each["total"] for each in (first, second, third)] == [20, 50, 20]
    assert len({each["commit"] for each in (first, second, third)}) == 3
    assert server.ask("/api/out/commit").json == {"commit": third["commit"]}
    counted = server.sql("select count(*) as n from served.thing").json
    assert (counted["commit"], counted["rows"]) == (third["commit"], [{"n": 20}])


@pytest.mark.slow
def test_damage_is_told_as_verify_tells_it_until_it_is_mended(three):
    server, (_, location, _) = three
    (part,) = location.glob("served.thing/*.parquet")
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    rows, page = server.ask(ROWS.replace("out", "out-2")), server.ask("/")
    said = harvest("verify", location)
    part.write_bytes(whole)
    mended = server.ask(ROWS.replace("out", "out-2"))

    assert rows.status == 500
    assert rows.json["message"] == "the dataset is damaged"
    assert all(text in " ".join(said.split()) for text in rows.json["problems"])
    assert str(part) in rows.json["problems"][0]
    assert page.status in (200, 500)
    assert mended.json["total"] == 20


@pytest.mark.slow
def test_a_damaged_manifest_is_told_and_other_datasets_are_served(three):
    server, (*_, location) = three
    manifest = location / "_harvest" / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole.replace(b"parquet", b"parquez"))
    damaged, fine = server.ask("/api/out-3"), server.ask("/api/out-2")
    manifest.write_bytes(whole)
    assert server.ask("/api/out-3").status == 200
    names = [each["name"] for each in server.ask("/api/").json["datasets"]]

    assert damaged.status == 500
    assert str(manifest) in damaged.json["where"]
    assert "harvest verify" in damaged.json["remedy"]
    assert fine.status == 200
    assert names == ["out", "out-2", "out-3"]


def test_what_is_no_dataset_is_refused_at_once(tmp_path):
    said = harvest("serve", tmp_path, "--no-open")

    assert "this is not a dataset" in said
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_one_line_also_while_it_works(dataset, number):
    with serving(dataset) as server:
        process = server.process
        body = '{"query": "select count(*) from range(10000000) a, range(10000000) b"}'
        asking = subprocess.Popen(
            ["curl", "-s", "-H", f"Authorization: Bearer {server.token}", "-d", body,
             f"{server.address}api/out/sql"], stdout=subprocess.PIPE,
        ) if shutil.which("curl") else None  # fmt: skip
        code, errors = server.stop(number)
        if asking is not None:
            asking.communicate(timeout=30)

    assert (code, errors) == (0, "harvest: ended; nothing was written\n")
    assert process.poll() == 0


@pytest.mark.slow
def test_after_a_kill_nothing_is_to_be_mended(dataset, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in dataset.rglob("*")}
    with serving(dataset, TMPDIR=str(tmp_path)) as server:
        assert server.ask("/api/out/tables/served.by_word/rows").status == 200
        left = list(tmp_path.glob("harvest-serve-*"))
        server.stop(signal.SIGKILL)
    assert [len(list(each.glob("*.parquet"))) for each in left] == [1]

    with serving(dataset, TMPDIR=str(tmp_path)) as server:
        assert server.ask("/api/out/tables/served.by_word/rows").status == 200
        assert not left[0].exists()
        server.stop()

    assert list(tmp_path.iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in dataset.rglob("*")} == before


def test_rows_of_views_are_kept_privately(server):
    mine = [
        path
        for path in Path(tempfile.gettempdir()).glob("harvest-serve-*")
        if until(lambda path=path: path.is_dir(), 10)
    ]

    assert mine
    assert {path.stat().st_mode & 0o777 for path in mine} == {0o700}


def test_a_port_that_is_taken_is_told(server, dataset):
    said = harvest("serve", dataset, "--no-open", "--port", server.port)

    assert re.search(r"cannot listen here.*--port", " ".join(said.split()))


def test_work_that_cannot_be_stopped_keeps_its_turn_until_it_has_ended():
    """Else what nobody waits for any more would be done by more and more threads at once."""

    async def scene() -> list[str]:
        turns, goes_on, seen = Turns(at_once=1, waiting=1), threading.Event(), []
        with pytest.raises(Refused, match=r"longer than 0\.05 s"):
            await run_in_turn(turns, lambda: goes_on.wait(60), time_s=0.05)
        next_one = asyncio.create_task(run_in_turn(turns, lambda: seen.append("next")))
        await asyncio.sleep(0.3)
        seen.append("the first has ended")
        goes_on.set()
        await next_one
        return seen

    assert asyncio.run(scene()) == ["the first has ended", "next"]
