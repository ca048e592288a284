"""What cannot be written at once: nothing is lost while it fits, and what is lost is counted."""

import errno
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import cap_reader as cap
import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_dask.settings import Settings
from harvest_dask.write.directory import create_capture
from harvest_dask.write.frames import FrameFile, pack
from harvest_dask.write.recorder import Recorder
from harvest_dask.write.remote import Relay


class Disk:
    """A target that refuses while ``full`` is set."""

    def __init__(self) -> None:
        self.full = threading.Event()
        self.refused = threading.Event()
        self.frames: list[dict[str, object]] = []

    def append(self, payloads: Sequence[bytes]) -> None:
        if self.full.is_set():
            self.refused.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        self.frames += map(msgpack.unpackb, payloads)

    def close(self) -> None:
        pass


def recorder(disk: Disk, queue: int, reports: list[dict[str, object]]) -> Recorder:
    asked = Settings("/nowhere", flush=0.01, queue=queue, capture="x")
    return Recorder(lambda first: disk, asked, list, reports.append)


def test_rows_wait_while_the_disk_is_full(caplog: pytest.LogCaptureFixture) -> None:
    disk, reports = Disk(), []
    writing = recorder(disk, 100, reports)
    stream = writing.stream("log", ("time", "message"))
    disk.full.set()
    writing.start()
    for n in range(50):
        stream.append((float(n), f"line {n}"))
    assert disk.refused.wait(10)
    disk.full.clear()
    writing.close("done")

    rows = cap.rows(disk.frames, "log")
    assert [r["message"] for r in rows] == [f"line {n}" for n in range(50)]
    (blind,) = cap.of_kind(disk.frames, "blind")
    assert (blind["lost"], blind["reason"]) == (0, "[Errno 28] No space left on device")
    assert [r["reason"] for r in reports] == [blind["reason"]]
    assert disk.frames[-1]["kind"] == "end"
    said = [r.message for r in caplog.records if r.levelno == logging.WARNING]
    assert [m.startswith("nothing can be recorded") for m in said] == [True, False]


@pytest.mark.parametrize("ends_blind", [False, True])
def test_what_a_full_queue_cannot_take_is_counted(ends_blind: bool) -> None:
    disk, reports = Disk(), []
    writing = recorder(disk, 20, reports)
    stream = writing.stream("log", ("time",))
    disk.full.set()
    writing.start()
    assert disk.refused.wait(10)
    for n in range(50):
        stream.append((float(n),))
    if not ends_blind:
        disk.full.clear()
    writing.close("done")

    if ends_blind:  # then it is said elsewhere
        assert disk.frames == []
        assert [r["lost"] for r in reports] == [None, 50]
        return
    assert [r["time"] for r in cap.rows(disk.frames, "log")] == [float(n) for n in range(20)]
    assert sum(b["lost"] for b in cap.of_kind(disk.frames, "blind")) == 30


def test_a_writer_that_fails_says_so_elsewhere(caplog: pytest.LogCaptureFixture) -> None:
    # given columns that cannot be made
    reports: list[dict[str, object]] = []
    writing = recorder(Disk(), 100, reports)
    stream = writing.stream("log", shape=lambda rows: {"n": 1 // 0})
    stream.append(("a", "row"))

    writing.start()
    writing.close("done")

    assert "the capture of this process ended" in caplog.text
    assert [report["reason"] for report in reports] == [
        "a defect: ZeroDivisionError('integer division or modulo by zero')"
    ]


FULL = """
import resource, signal, sys, time
from harvest_dask.write.directory import create_capture
from harvest_dask.write.frames import FrameFile
from harvest_dask.write.recorder import Recorder
from harvest_dask.settings import Settings
from pathlib import Path

directory = sys.argv[1]
asked = Settings(directory, flush=0.01, capture=create_capture(directory))
path = Path(directory, "worker-x.cap")
recorder = Recorder(lambda first: FrameFile(path, asked.capture, first), asked,
                    lambda: [{"kind": "start"}])
stream = recorder.stream("log", ("message",))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, hard))
recorder.start()
for n in range(100):
    stream.append(("x" * 50 + str(n),))
    time.sleep(0.005)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
recorder.close("done")
"""


def test_a_file_stays_whole_when_the_file_system_ends_within_a_frame(tmp_path: Path) -> None:
    directory = tmp_path / "R1"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(directory)], capture_output=True, text=True, check=True
    )
    frames, cut = cap.read_frames(directory / "worker-x.cap")
    assert cut == 0
    assert [r["message"] for r in cap.rows(frames, "log")] == [
        "x" * 50 + str(n) for n in range(100)
    ]
    (blind,) = cap.of_kind(frames, "blind")
    assert "File too large" in blind["reason"]
    assert done.stderr.count("nothing can be recorded") == 1


def test_a_file_that_vanished_is_made_anew(tmp_path: Path) -> None:
    capture = create_capture(str(tmp_path / "R1"))
    path = tmp_path / "R1" / "worker-x.cap"
    file = FrameFile(path, capture, [pack({"kind": "start"})])
    file.append([pack({"kind": "a"})])
    path.unlink()
    file.append([pack({"kind": "b"})])
    frames, cut = cap.read_frames(path)
    assert ([f["kind"] for f in frames], cut) == (["start", "b"], 0)


def test_a_directory_of_another_capture_is_not_written_to(tmp_path: Path) -> None:
    create_capture(str(tmp_path / "R1"))
    file = FrameFile(tmp_path / "R1" / "worker-x.cap", "another", [])
    with pytest.raises(OSError, match="not the capture's directory on this machine"):
        file.append([pack({"kind": "a"})])
    assert not list(tmp_path.glob("R1/*.cap"))


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=12))
def test_a_batch_that_is_sent_twice_is_written_once(
    tmp_path_factory: pytest.TempPathFactory, batches: list[tuple[int, bool]]
) -> None:
    """Given answers that are lost, so that the sender repeats a batch."""
    directory = tmp_path_factory.mktemp("relay") / "R1"
    relay = Relay(str(directory), create_capture(str(directory)))
    expected: list[str] = []
    for number, (frames, repeated) in enumerate(batches, 1):
        payloads = [pack({"kind": f"{number}.{n}"}) for n in range(frames)]
        for _ in range(1 + repeated):
            first = [pack({"kind": "start"})] if number == 1 else []
            assert relay.append("worker-a-1-b.cap", number, payloads, first) is None
        expected += [f"{number}.{n}" for n in range(frames)]
    relay.close()
    if batches:
        frames_found, cut = cap.read_frames(directory / "worker-a-1-b.cap")
        assert ([f["kind"] for f in frames_found], cut) == (["start", *expected], 0)


@pytest.mark.parametrize("name", ["../x.cap", "scheduler-a.cap", "worker-a/b.cap", "capture.json"])
def test_others_name_only_files_of_their_own(tmp_path: Path, name: str) -> None:
    relay = Relay(str(tmp_path), create_capture(str(tmp_path / "R1")))
    refused = relay.append(name, 1, [pack({"kind": "a"})])
    assert refused is not None
    assert "is not the name of a capture's file" in refused
