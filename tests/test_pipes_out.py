"""``-k jsonl:-``: rows on standard output as they are read, by whole programs and real pipes."""

import contextlib
import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import harvest_here, in_place_of
from datasets import dump

pytestmark = pytest.mark.slow

pytest.importorskip("harvest_slurm")
pytest.importorskip("harvest_jsonl")

RUN = ["run", "--set", "slurm.timezone=UTC"]
HARVEST = [sys.executable, "-m", "harvest"]
FILTER = [*HARVEST, *RUN, "-s", "slurm:-", "-k", "jsonl:-"]
MANY = 60_000


def given(text: str, *more: str, **options: object) -> subprocess.CompletedProcess[str]:
    """What the filter makes of a text that comes through a pipe."""
    return subprocess.run(
        [*FILTER, *more], input=text, capture_output=True, text=True, timeout=120, check=False,
        **options,
    )  # fmt: skip


def here(
    text: str | bytes, *more: object, words: Sequence[object] = FILTER[3:], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """As ``given``, in this process; text: what a thread writes into the pipe."""
    reading, writing = os.pipe()
    data = text.encode() if isinstance(text, str) else text
    writer = threading.Thread(target=lambda: _write(writing, data))
    writer.start()
    with tempfile.TemporaryFile("w+") as rows, os.fdopen(reading, "rb") as pipe:
        with in_place_of(0, pipe), in_place_of(1, rows):
            done = harvest_here(*words, *more, cwd=cwd)
        rows.seek(0)
        done.stdout += rows.read()
    writer.join()
    return done


def _write(pipe: int, data: bytes) -> None:
    with os.fdopen(pipe, "wb") as file, contextlib.suppress(BrokenPipeError):
        file.write(data)


def jobs(lines: str) -> list[str]:
    return [json.loads(line)["data"]["job_id"] for line in lines.splitlines()]


def test_rows_go_to_standard_output_and_the_account_to_standard_error(tmp_path: Path) -> None:
    # given two jobs and a line that is none
    done = given(dump(1, 2, damaged=1), cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)})
    # then the rows are those of the file, and rejects end the run as any other
    assert done.returncode == 3
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["record_type"], first["origin"], first["position"]) == ("slurm.job", "stdin", 2)
    assert (second["data"]["name"], second["data"]["elapsed_s"]) == ("job 2", 5.0)
    account = done.stderr.splitlines()
    assert account[1].split() == ["slurm", "1", "0", "3", "2", "0", "0", "1"]
    assert "stdin: record 4 rejected: JobID: 'odd0'" in done.stderr
    # and nothing is left behind, where it ran or where it works
    assert list(tmp_path.iterdir()) == []


def test_lines_are_those_of_the_one_file_form(tmp_path: Path) -> None:
    text = dump(*range(1, 30))
    out = tmp_path / "out.jsonl"
    (tmp_path / "in.txt").write_text(text)
    harvest_here(*RUN, "-s", f"slurm:{tmp_path / 'in.txt'}", "-k", f"jsonl:{out}", "-q")
    expected = out.read_text().replace(str(tmp_path / "in.txt"), "stdin")
    assert here(text, "-q").stdout == expected


def test_a_row_comes_while_the_input_goes_on() -> None:
    # given a program that has written one job, and holds its pipe open
    with subprocess.Popen(FILTER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.PIPE) as program:  # fmt: skip
        assert program.stdin is not None
        assert program.stdout is not None
        header, one, two, _ = dump(1, 2).split("\n")
        print(header, one, sep="\n", file=program.stdin, flush=True)
        # then its row is there before anything else is written
        assert jobs(program.stdout.readline()) == ["1"]
        print(two, file=program.stdin, flush=True)
        assert jobs(program.stdout.readline()) == ["2"]
        program.stdin.close()
        assert program.wait(60) == 0


@pytest.mark.parametrize("through", ["pipe", "file"])
def test_a_reader_that_goes_away_ends_the_run_without_a_message(
    tmp_path: Path, through: str
) -> None:
    text = tmp_path / "many.txt"
    text.write_text(dump(*range(1, MANY)))
    script = 'set -o pipefail; {} | head -n 1; echo "${{PIPESTATUS[*]}}"'
    line = '"$@" <"$0"' if through == "file" else 'cat "$0" | "$@"'
    done = subprocess.run(["bash", "-c", script.format(line), text, *FILTER],
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    row, codes = done.stdout.splitlines()
    assert jobs(row) == ["1"]
    assert codes.split()[-2:] == ["1", "0"]
    assert done.stderr == ""


def test_a_comma_separated_dump_is_read_to_its_end_first() -> None:
    # a quote at its end decides what all quotes mean
    text = dump(*range(1, 9_000)).replace("|", ",") + '9000,"a, b",ann,COMPLETED,0:0,00:00:05,\n'
    rows = here(text).stdout.splitlines()
    assert len(rows) == 9_000
    assert json.loads(rows[-1])["data"]["name"] == "a, b"


def test_what_gzip_packed_is_unpacked() -> None:
    assert jobs(here(gzip.compress(dump(1, 2).encode())).stdout) == ["1", "2"]


def test_a_named_pipe_and_several_sources_go_through(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(dump(1))
    fifo = tmp_path / "jobs"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=(dump(2),))
    writer.start()
    words = [*RUN, "-s", f"slurm:{tmp_path / 'a.txt'}", "-s", f"slurm:{fifo}", "-k", "jsonl:-"]
    done = here("", words=words)
    writer.join()
    assert {(row["origin"], row["job"]) for row in map(json.loads, done.stdout.splitlines())} == {
        (str(tmp_path / "a.txt"), "1"), (str(fifo), "2")
    }  # fmt: skip
    assert done.returncode == 0


def test_the_account_as_json_and_none_at_all() -> None:
    assert json.loads(here(dump(1), "--json").stderr)["record_types"] == {"slurm.job": 1}
    assert here(dump(1), "-q").stderr == ""
    assert here(dump(1, damaged=1), "-q").stderr == "harvest: 1 input unit could not be read\n"
    assert jobs(here(dump(1, 2, 3), "--limit", "2").stdout) == ["1", "2"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-k", "parquet:out"], "there is no second sink"),
        (["--workers", "2"], "there is no workers"),
        (["--keep-runs", "2", "--deleted", "drop"], "there is no deleted and no keep-runs"),
        (["--since", "last"], "there is no last run"),
    ],
)
def test_what_needs_a_dataset_is_refused(tmp_path: Path, more: list[str], said: str) -> None:
    done = here(dump(1), *more, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["watch"], ["schedule", "--every", "day"]])
def test_what_comes_again_and_again_needs_a_dataset(tmp_path: Path, command: list[str]) -> None:
    pytest.importorskip("harvest_watch")
    (tmp_path / "in.txt").write_text(dump(1))
    done = harvest_here(*command, "-s", f"slurm:{tmp_path}", "-k", "jsonl:-")
    assert done.returncode == 2
    assert "needs a dataset" in done.stderr


BREAKS_OFF = """
import harvest

@harvest.record("half.line", layer="workflow", level="client")
class Line(harvest.Record):
    text: str = harvest.field(doc="A line.")

class Half(harvest.Source):
    name, record_types = "half", (Line,)
    def read(self, partition, ctx):
        print("what a plugin prints is no row")
        for number in range(10_000):
            yield Line(text=str(number))
        raise harvest.SourceError("its end is missing", remedy="copy it again")
"""


def test_an_input_that_breaks_off_keeps_the_rows_that_are_out(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(BREAKS_OFF)
    words = [*HARVEST, *RUN, "-s", f"{tmp_path / 'half.py'}:-", "-k", "jsonl:-"]
    done = subprocess.run(words, input="x", capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    # then the account is of the rows that were written, of which each is one
    rows = [json.loads(line)["data"]["text"] for line in done.stdout.splitlines()]
    assert rows == [str(number) for number in range(len(rows))]
    source, *counts = done.stderr.splitlines()[2].replace(",", "").split()
    assert (source, counts) == (
        "half",
        ["1", "0", str(len(rows) + 1), str(len(rows)), "0", "0", "1"],
    )
    assert len(rows) > 0
    assert done.returncode == 3
    assert "rejected: its end is missing; copy it again" in done.stderr


@pytest.mark.slow(night=True)
def test_a_million_rows_go_through_in_bounded_memory() -> None:
    with tempfile.TemporaryFile("w+") as text:
        text.write(dump(*range(1, 1_000_001)))
        text.seek(0)
        with (
            subprocess.Popen(["cat"], stdin=text, stdout=subprocess.PIPE) as cat,
            subprocess.Popen(FILTER, stdin=cat.stdout, stdout=subprocess.PIPE) as program,
        ):
            assert program.stdout is not None
            assert sum(1 for _ in program.stdout) == 1_000_000
            _, status, used = os.wait4(program.pid, 0)
    assert status == 0
    assert used.ru_maxrss < 600 * 1024
