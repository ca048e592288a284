"""Standard input, named pipes and the shell's <(...): the same rows as from a file."""

import gzip
import io
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa
import pytest
import small_inputs
from commands import harvest_here, in_place_of
from datasets import SETTINGS, dump
from polars.testing import assert_frame_equal

import harvest
from harvest import Record, Source, field, file_partition, record
from harvest.errors import SourceError, UsageError

pytest.importorskip("harvest_slurm")

ZONE = ("--set", "slurm.timezone=UTC")


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "harvest", *map(str, words)]


def run(*words: object, given: bytes | None = None, **more: Any) -> subprocess.CompletedProcess:
    """``harvest WORDS...``; given: what comes through its standard input."""
    more = {"stdin": subprocess.DEVNULL, "timeout": 120, **more}
    if given is not None:
        del more["stdin"]
    return subprocess.run(command(*words), input=given, capture_output=True, check=False, **more)


def here(
    *words: object, given: bytes | None = None, stdin: Any = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """As ``run``, in this process; given: few bytes, which a pipe holds at once."""
    with ExitStack() as clear_up:
        if stdin is None and given is not None:
            stdin = clear_up.enter_context(Path(clear_up.enter_context(through(given))).open("rb"))
        elif stdin is None:
            stdin = clear_up.enter_context(Path(os.devnull).open("rb"))
        clear_up.enter_context(in_place_of(0, stdin))
        done = harvest_here(*words, cwd=cwd)
    code, out, err = done.returncode, done.stdout.encode(), done.stderr.encode()
    return subprocess.CompletedProcess(done.args, code, out, err)


def written(path: Path, data: bytes, *, pieces: int = 1, pause_s: float = 0) -> threading.Thread:
    """A program that writes into a named pipe, as slowly as it is told to."""

    def write() -> None:
        size = -(-len(data) // pieces)
        with path.open("wb", buffering=0) as pipe:
            for start in range(0, len(data), size):
                time.sleep(pause_s)
                pipe.write(data[start : start + size])

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    return writer


@contextmanager
def through(data: bytes) -> Iterator[str]:
    """The location of an open pipe through which these few bytes come, as <(...) makes one."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


def harvested(location: str, out: Path, **options: Any) -> Any:
    """A run in this process."""
    source = location if ":" in location else f"slurm:{location}"
    options = {"settings": SETTINGS, "workers": 1, **options}
    return harvest.run(source, f"parquet:{out}", **options)


def rows(out: Path, kind: str = "slurm.job") -> pl.DataFrame:
    """All that a dataset has of a record type, but where it is from."""
    return harvest.open(out)[kind].collect().drop("origin").sort("position")


def jobs(out: Path) -> list[tuple[str, str]]:
    """The jobs of a dataset with their origins."""
    return sorted(harvest.open(out)["slurm.job"].select("job_id", "origin").collect().rows())


def left_behind(out: Path) -> list[Path]:
    return list((out / "_harvest" / "staging").iterdir())


# --- the same rows as from the file ---------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump that no pipe holds at once."""
    path = tmp_path_factory.mktemp("dumps") / "dump.txt"
    path.write_text(dump(*range(1, 3_001), damaged=2))
    return path


@pytest.fixture(scope="module")
def expected(table: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    out = tmp_path_factory.mktemp("from-file") / "out"
    harvested(str(table), out)
    found = rows(out)
    assert found.height == 3_000
    return found


def by_dash(table: Path, out: Path) -> tuple[Any, str]:
    return run("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{out}", given=table.read_bytes()), ""


def by_redirection(table: Path, out: Path) -> tuple[Any, str]:
    with table.open("rb") as file:
        words = ("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{out}", "--workers", "2")
        return run(*words, stdin=file), ""


def by_process_substitution(table: Path, out: Path) -> tuple[Any, str]:
    line = f'exec "{sys.executable}" -m harvest run -s slurm:<(cat "$0") "$@"'
    words = ["bash", "-c", line, table, *ZONE, "-k", f"parquet:{out}"]
    done = subprocess.run(
        words, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False
    )
    return done, "/dev/fd/"


def by_named_pipe(table: Path, out: Path) -> tuple[Any, str]:
    pipe = out.with_name("pipe")
    os.mkfifo(pipe)
    writer = written(pipe, table.read_bytes(), pieces=6, pause_s=0.3)
    done = run("run", "-s", "slurm:pipe", *ZONE, "-k", f"parquet:{out}", cwd=out.parent)
    writer.join()
    return done, str(pipe)


WAYS: dict[str, Callable[[Path, Path], tuple[Any, str]]] = {
    "slurm:-": by_dash,
    "< file": by_redirection,
    "<(cat file)": by_process_substitution,
    "a slow named pipe": by_named_pipe,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_pipe_gives_the_rows_of_the_file(
    way: str, table: Path, expected: pl.DataFrame, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done, origin = WAYS[way](table, out)
    assert done.returncode == 3, done.stderr  # the two damaged lines
    assert_frame_equal(rows(out), expected)
    dataset = harvest.open(out)
    (found,) = dataset["slurm.job"].collect()["origin"].unique()
    assert found.startswith(origin or "stdin")
    assert {reject["origin"] for reject in dataset.rejects()} == {found}
    assert left_behind(out) == []


@pytest.mark.slow
def test_a_compressed_stream_is_read_as_the_file_would_be(tmp_path: Path) -> None:
    pytest.importorskip("harvest_gpfs")
    lines = "".join(f"{inode} 2 0  -- /data/{inode}\n" for inode in range(1, 5_001)).encode()
    (tmp_path / "plain.list").write_bytes(lines)
    harvested(f"gpfs:{tmp_path / 'plain.list'}", tmp_path / "file", settings={})
    packed = gzip.compress(lines)

    done = here("run", "-s", "gpfs:-", "-k", f"parquet:{tmp_path / 'pipe'}", given=packed)

    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "pipe", "gpfs.file")
    assert found.height == 5_000
    assert_frame_equal(found, rows(tmp_path / "file", "gpfs.file"))


def test_what_came_through_is_read_in_ranges_by_several_workers(tmp_path: Path) -> None:
    pytest.importorskip("harvest_gpfs")
    lines = "".join(f"{inode} 2 0  -- /data/{inode}\n" for inode in range(1, 2_001)).encode()
    out, cut = tmp_path / "out", {"gpfs": {"partition_bytes": "10000"}}
    with through(lines) as pipe:
        many = harvested(f"gpfs:{pipe}", out, settings=cut, workers=2)
    assert len(many.parts) > 3
    assert rows(out, "gpfs.file")["inode"].to_list() == list(range(1, 2_001))

    # given: less through a pipe of the same name; then: no range of before is left
    with through(lines[:1_000].rpartition(b"\n")[0] + b"\n") as pipe:
        again = harvested(f"gpfs:{pipe}", out, settings=cut)
    assert rows(out, "gpfs.file").height == again.account.written < 100


@pytest.mark.parametrize(
    ("source", "name", "content", "kind"),
    [
        (
            "ncem", "t.csv", "distiller_id,scan_number,datetime\n7,3,2022-05-01 10:00:00\n",
            "ncem.data_file",
        ),
        ("distiller", "d.csv", "id,slurm_id,elapsed\n1,77,00:00:12\n", "distiller.job"),
        ("mofka-dask", "client.csv", "client,time,action\nc-1,1713553200.5,add\n", "dask.client"),
        (
            "yappi", "f.txt", "name  id  tid  ttot  scnt\n_MainThread  0  12  0.5  1\n",
            "yappi.thread",
        ),
    ],
    ids=["ncem", "distiller", "mofka-dask", "yappi"],
)  # fmt: skip
def test_each_source_of_single_files_reads_pipes_and_recognises_what_comes(
    source: str, name: str, content: str, kind: str, tmp_path: Path
) -> None:
    pytest.importorskip(f"harvest_{source.replace('-', '_')}")
    settings = {"ncem": {"timezone": "UTC"}, "distiller": {"scan_size": "64x64"}}
    settings = {key: value for key, value in settings.items() if key == source}
    (tmp_path / name).write_text(content)
    harvested(f"{source}:{tmp_path / name}", tmp_path / "file", settings=settings)
    with through(content.encode()) as pipe:
        harvest.run(pipe, f"parquet:{tmp_path / 'pipe'}", settings=settings, workers=1)
    found = rows(tmp_path / "pipe", kind)
    assert found.height == 1
    assert_frame_equal(found, rows(tmp_path / "file", kind))


def test_a_binary_log_comes_through_a_pipe_that_is_named_like_it(tmp_path: Path) -> None:
    pytest.importorskip("harvest_darshan")
    (name, log), *_ = small_inputs.MAKERS["darshan"](1).items()
    os.mkfifo(tmp_path / name)
    writer = written(tmp_path / name, log, pieces=3, pause_s=0.1)
    harvested(f"darshan:{tmp_path / name}", tmp_path / "out", settings={})
    writer.join()
    assert harvest.open(tmp_path / "out").record_types["darshan.job"] == 1


# --- what else is said of it ----------------------------------------------------------------------


@record("pipes.line", layer="job", level="job")
class Line(Record):
    """A line."""

    text: str = field(doc="The line.")


class Lines(Source):
    """A source that names its file in every way that a source may."""

    name: ClassVar[str] = "pipe-lines"
    record_types = (Line,)

    def plan(self) -> Any:
        path = Path(self.location)
        if path.read_text() == "other":
            raise SourceError("is of another kind", where=str(path), remedy=f"mend {path}")
        yield file_partition(path, id=path.name, options={"seen": False})

    def prepare(self, partition: Any) -> Any:
        assert partition.path.is_file()
        return partition

    def read(self, partition: Any, ctx: Any) -> Any:
        path = str(partition.path)
        first, second, third, fourth, *_ = partition.path.read_text().splitlines()
        line = Line(text=first)
        line.origin = path
        yield line
        texts = pa.array([second])
        yield Line, pa.table({"text": texts, "origin": pa.array([path]).dictionary_encode()})
        yield Line, pl.DataFrame({"text": [third], "origin": [path]})
        yield Line, pa.table({"text": pa.array([fourth])})
        yield Line, pa.table({"text": pa.array([path])})
        ctx.reject(b"x", f"{path} is odd", origin=path, position=5)
        ctx.note(f"look at {path}", origin=path)


def test_all_that_a_source_says_names_the_pipe(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with through(b"a\nb\nc\nd\n") as pipe:
        result = harvest.run(Lines(pipe), f"parquet:{out}", workers=1)
    dataset = harvest.open(out)
    found = dataset["pipes.line"].collect().sort("text")
    assert found.select("text", "origin").rows() == [(text, pipe) for text in (pipe, *"abcd")]
    (reject,) = dataset.rejects()
    assert (reject["origin"], reject["reason"]) == (pipe, f"{pipe} is odd")
    assert result.notes == [f"{pipe}: look at {pipe}"]


def test_an_error_names_the_pipe(tmp_path: Path) -> None:
    with through(b"other") as pipe, pytest.raises(SourceError) as error:
        harvest.run(Lines(pipe), f"parquet:{tmp_path / 'out'}", workers=1)
    assert str(error.value) == f"{pipe}: is of another kind; mend {pipe}"
    assert left_behind(tmp_path / "out") == []


# --- again, and never skipped ---------------------------------------------------------------------


@pytest.mark.slow
def test_a_pipe_is_never_unchanged_and_replaces_what_came_through_it_before(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    same = dump(1, 2).encode()
    first = here("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{out}", given=same)
    assert b"takes the place" not in first.stderr
    again = here("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{out}", given=same)
    assert again.stdout.split(b"\n")[1].split()[:5] == [b"slurm", b"1", b"0", b"2", b"2"]
    assert b"stdin: replaces 2 rows that an earlier run read from it" in again.stderr

    other = dump(3, 4, 5).encode()
    here("run", "-s", "slurm:/dev/stdin", *ZONE, "-k", f"parquet:{out}", given=other)
    assert jobs(out) == [(job, "stdin") for job in "345"]


def test_an_empty_pipe_does_not_take_the_place_of_what_came_before(tmp_path: Path) -> None:
    """The command before it has failed, mostly."""
    words = ("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{tmp_path / 'out'}")
    here(*words, given=dump(1).encode())
    done = here(*words, given=b"")
    assert done.returncode == 1
    assert done.stderr.startswith(b"harvest: stdin: nothing came through this pipe; check")
    assert jobs(tmp_path / "out") == [("1", "stdin")]
    assert left_behind(tmp_path / "out") == []


def test_files_and_pipes_go_into_one_dataset(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(dump(1))
    out, file = tmp_path / "out", str(tmp_path / "a.txt")
    with through(dump(2).encode()) as one, through(dump(3).encode()) as other:
        sources = [f"slurm:{place}" for place in (file, one, other)]
        harvest.run(sources, f"parquet:{out}", settings=SETTINGS, workers=1)
        assert jobs(out) == [("1", file), ("2", one), ("3", other)]
    # a run without the pipes leaves their rows
    harvested(file, out, force=True)
    assert len(jobs(out)) == 3


def test_a_selection_of_files_does_not_leave_out_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    with through(dump(1).encode()) as pipe:
        harvested(pipe, tmp_path / "out", changed=str(tmp_path / "none"))
        assert jobs(tmp_path / "out") == [("1", pipe)]


def test_rejects_of_a_pipe_cannot_be_read_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    here("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{out}", given=dump(1, damaged=1).encode())
    done = here("rejects", out, "--replay")
    assert done.returncode == 3
    assert b"stdin cannot be read again: it came through a pipe" in done.stdout
    assert jobs(out) == [("1", "stdin")]


# --- what is left behind --------------------------------------------------------------------------


@contextmanager
def waiting_for_more(out: Path) -> Iterator[subprocess.Popen]:
    """A run that has read the beginning of what comes through its standard input."""
    words = command("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{out}")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(dump(1).encode())
        process.stdin.flush()
        copy = out / "_harvest" / "staging" / "pipes" / "0" / "stdin"
        while not copy.exists():
            assert process.poll() is None
            time.sleep(0.05)
        yield process
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_for_a_pipe_and_nothing_is_left(
    number: signal.Signals, tmp_path: Path
) -> None:
    with waiting_for_more(tmp_path / "out") as process:
        process.send_signal(number)
        assert process.wait(timeout=60) == 130
    assert left_behind(tmp_path / "out") == []


@pytest.mark.slow
def test_what_a_killed_run_copied_goes_with_the_next(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with waiting_for_more(out) as process:
        process.kill()
        process.wait()
    assert left_behind(out)
    (tmp_path / "a.txt").write_text(dump(7))
    harvested(str(tmp_path / "a.txt"), out)
    assert left_behind(out) == []
    assert [job for job, _ in jobs(out)] == ["7"]


def test_without_room_for_the_copy_nothing_is_committed(tmp_path: Path) -> None:
    words = ("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{tmp_path / 'out'}")
    (tmp_path / "pipe").write_text(dump(*range(20_000)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as cat:
            done = here(*words, stdin=cat.stdout)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert b"nothing of this run was committed" in done.stderr
    assert left_behind(tmp_path / "out") == []


@pytest.mark.slow
def test_a_log_says_that_nobody_writes_into_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = command("run", "-s", f"slurm:{pipe}", *ZONE, "-k", f"parquet:{tmp_path / 'out'}")
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"harvest: nothing yet from {pipe}\n".encode()
        written(pipe, dump(1).encode()).join()
        assert process.wait(timeout=60) == 0


# --- what is refused ------------------------------------------------------------------------------


def test_devices_and_sockets_are_refused_by_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="/dev/null is a character device"):
        harvested("/dev/null", tmp_path / "out")
    with pytest.raises(UsageError, match=r"/dev/fd/\d+ is a directory"):
        harvested(f"/dev/fd/{os.open(tmp_path, os.O_RDONLY)}", tmp_path / "out")
    with socket.socket(socket.AF_UNIX) as here:
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        here.bind("s")
        with pytest.raises(UsageError, match="/s is a socket"):
            harvested("s", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def refused(out: Path, *words: object, **more: Any) -> str:
    """What a run says that is refused before it begins."""
    called = run if "preexec_fn" in more else here
    done = called("run", *words, "-k", f"parquet:{out}", **more)
    assert done.returncode == 2, done.stderr
    assert not out.exists()
    return done.stderr.decode()


@pytest.mark.slow
def test_a_standard_input_without_anything_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "is a character device" in refused(out, "-s", "slurm:-")
    closed = refused(out, "-s", "slurm:-", stdin=None, preexec_fn=lambda: os.close(0))
    assert "standard input is not open" in closed
    ours, theirs = os.openpty()
    assert "standard input is a terminal" in refused(out, "-s", "slurm:-", stdin=theirs)
    os.close(ours)
    os.close(theirs)


def test_two_sources_cannot_read_one_pipe(tmp_path: Path) -> None:
    said = refused(tmp_path / "out", "-s", "slurm:-", "-s", "slurm:/dev/stdin", given=b"")
    assert said.startswith("harvest: stdin: two sources would read this pipe")
    with through(b"") as pipe, pytest.raises(UsageError, match="two sources would read"):
        harvest.run([f"slurm:{pipe}", f"yappi:{pipe}"], f"parquet:{tmp_path / 'out'}")


def test_what_is_wrong_is_said_before_a_pipe_is_read(tmp_path: Path) -> None:
    with through(dump(1).encode()) as pipe:
        with pytest.raises(UsageError, match="no setting 'zone'"):
            harvested(pipe, tmp_path / "out", settings={"slurm": {"zone": "UTC"}})
        assert harvested(pipe, tmp_path / "out").account.written == 1


def test_a_dry_run_reads_nothing_of_a_pipe(tmp_path: Path) -> None:
    with through(dump(1).encode()) as pipe:
        (planned,) = harvested(pipe, tmp_path / "out", dry_run=True).plan.to_read
        assert planned.partition.origin == pipe
        with pytest.raises(UsageError, match="does not show which source"):
            harvest.run(pipe, f"parquet:{tmp_path / 'out'}", dry_run=True)
        assert harvested(pipe, tmp_path / "out").account.written == 1


@pytest.mark.parametrize(
    "words",
    [("watch", "-k", "parquet:out"), ("schedule", "--every", "1h", "-k", "parquet:out")],
    ids=["watch", "schedule"],
)
def test_what_reads_later_or_again_refuses_a_pipe(words: tuple[str, ...], tmp_path: Path) -> None:
    done = here(*words, "-s", "slurm:-", cwd=tmp_path)
    assert done.returncode == 2
    assert b"cannot read a pipe, which can be read only once" in done.stderr


# --- looking before harvesting --------------------------------------------------------------------


def tmp(folder: Path) -> dict[str, str]:
    (folder / "tmp").mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(folder / "tmp")}


@pytest.mark.slow
def test_a_preview_of_what_never_ends_reads_its_beginning(tmp_path: Path) -> None:
    pytest.importorskip("harvest_gpfs")
    endless = ["sh", "-c", "yes '1 2 0  -- /data/some/file'"]
    with subprocess.Popen(endless, stdout=subprocess.PIPE) as yes:
        shown = run("preview", "-s", "gpfs:-", stdin=yes.stdout, env=tmp(tmp_path))
        assert yes.stdout is not None
        yes.stdout.close()
    assert shown.returncode == 0
    assert b"gpfs.file: 5 of at least" in shown.stdout
    assert b"stdin: only its first 64.0 MiB were read" in shown.stderr


def test_standard_input_is_read_from_where_it_stands(tmp_path: Path) -> None:
    """A shell's ``{ read banner; harvest run -s slurm:- ...; } < file`` has read a line before."""
    with io.FileIO(tmp_path / "f", "w+") as file:
        file.write(b"a banner\n" + dump(1).encode())
        file.seek(len(b"a banner\n"))
        here("run", "-s", "slurm:-", *ZONE, "-k", f"parquet:{tmp_path / 'out'}", stdin=file)
    assert jobs(tmp_path / "out") == [("1", "stdin")]
