"""Errors that lead on: each says what was found, where, and what to do."""

import errno
import io
import json
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from commands import harvest_here, python_alone

from harvest import SourceError, fault
from harvest.errors import HarvestError, lack_of, system_reason
from harvest.plugin_code import contained
from harvest.plugins.registry import manager
from harvest.reading.rows import collect

SACCT = "JobID|State|User\n1|COMPLETED|ada\n2|TIMEOUT|tim\n"

FAILING = '''"""A plugin in a file, whose code fails at the word `two`."""
import harvest

@harvest.record("letter.word", layer="workflow", level="client")
class Word(harvest.Record):
    """A word."""
    number: int = harvest.field(doc="What it means.")

class Letters(harvest.Source):
    """Words that are numbers."""
    name, record_types = "letter", (Word,)

    def read(self, partition, ctx):
        for word in partition.path.read_text().split():
            yield Word(number=number_of(word))

def number_of(word):
    return {"one": 1}[word]

class FailingWriter(harvest.PartWriter):
    """Writes nothing."""
    def write(self, record_type, table):
        raise ValueError("no room")
    def close(self):
        return []
    def abort(self):
        pass

class Sink(harvest.DirectorySink):
    """Fails where it writes."""
    name, suffix = "failing", ".no"

    def writer(self, staging, part):
        return FailingWriter()

    def scan(self, files, record_type):
        raise NotImplementedError
'''
LINE_OF_NUMBER, LINE_OF_WRITE = 18, 23


@pytest.fixture
def plugin(tmp_path, no_plugin_files):
    """The failing plugin, and beside it a letter in which it fails at the third word."""
    (tmp_path / "letters.py").write_text(FAILING)
    (tmp_path / "a.letter").write_text("one\none\ntwo\n")
    return tmp_path / "letters.py"


# a plugin that fails


@pytest.mark.parametrize("command", [["preview"], ["run", "-k", "parquet:out"]])
def test_a_source_that_fails_is_named_with_its_line_and_where_it_was(plugin, command):
    word, *more = command

    done = harvest_here(word, "-s", "letters.py:a.letter", *more, cwd=plugin.parent)

    assert done.returncode == 1
    assert done.stderr == (
        f"harvest: {plugin.parent}/a.letter, after record 2: source 'letter' failed: "
        f"KeyError: 'two', in {plugin}:{LINE_OF_NUMBER}; "
        "report this to the author of letters.py (--debug shows the traceback)\n"
    )


def test_a_source_that_fails_at_once_had_no_record_before(plugin):
    (plugin.parent / "a.letter").write_text("two\n")

    done = harvest_here("preview", "-s", "letters.py:a.letter", cwd=plugin.parent)

    assert "/a.letter, before its first record: source 'letter' failed" in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])  # in this process, and in others
def test_a_sink_that_fails_is_named_with_its_line_and_place(plugin, workers):
    (plugin.parent / "a.letter").write_text("one\n")
    words = ("run", "-s", "letters.py:a.letter", "-k", "letters.py:out", "--workers", workers)

    done = harvest_here(*words, cwd=plugin.parent)

    assert done.returncode == 1
    assert "out: sink 'failing' failed: ValueError: no room, in " in done.stderr
    assert f"{plugin}:{LINE_OF_WRITE}; report this to the author of letters.py" in done.stderr


def test_whatever_else_of_a_plugin_fails_is_named_with_its_line(plugin):
    failing = FAILING.replace(
        "    def read(self", "    def plan(self):\n        return 1 / 0\n\n    def read(self"
    )
    plugin.write_text(failing)
    line = failing.splitlines().index("        return 1 / 0") + 1

    done = harvest_here("preview", "-s", "letters.py:a.letter", cwd=plugin.parent)

    assert done.stderr == (
        f"harvest: unexpected ZeroDivisionError: division by zero; in {plugin}:{line}, of plugin "
        "'letters' (letters.py): report this to its author (--debug shows the traceback)\n"
    )


# files that run out


def test_where_no_more_files_may_be_open_it_says_how_many_and_how_to_raise_that():
    program = (
        "import errno, resource; from harvest.errors import system_reason\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 512))\n"
        "print(system_reason(OSError(errno.EMFILE, 'Too many open files')))\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))\n"
        "print(system_reason(OSError('Too many open files (os error 24): as polars writes it')))\n"
    )

    done = python_alone(program)

    assert done.stdout == (
        "too many open files: this process may have 64 open at a time; raise that before by "
        "`ulimit -n 512`\n"
        "too many open files: this process may have 512 open at a time; only an administrator can "
        "raise the limit: `ulimit -Hn` shows it\n"
    )


def test_where_the_system_has_no_more_files_it_says_whose_limit_that_is():
    reason = system_reason(OSError(errno.ENFILE, "Too many open files in system"))

    assert "in all programs of this computer" in reason
    assert "fs.file-max" in reason


@pytest.mark.parametrize("failing", ["partition.begun:1:EMFILE", "partition.rows:1:ENFILE"])
def test_a_run_that_can_open_no_more_files_fails_and_blames_no_input(
    tmp_path, monkeypatch, failing
):
    (tmp_path / "jobs.txt").write_text(SACCT)
    monkeypatch.setattr(fault, "_fault", fault._Fault(failing))

    done = harvest_here("run", "-s", "slurm:jobs.txt", "-k", "parquet:out", cwd=tmp_path)

    assert done.returncode == 1
    assert "too many open files" in done.stderr
    assert "nothing of this run was committed" in done.stderr
    assert "permission" not in done.stderr


def test_a_source_that_words_the_refusal_itself_is_not_believed(plugin):
    """Many plugins turn any OSError into `cannot be read`, which would become a reject."""
    plugin.write_text(
        FAILING.replace(
            'return {"one": 1}[word]',
            'try:\n        raise OSError(24, "Too many open files")\n'
            "    except OSError as error:\n"
            '        raise harvest.SourceError("cannot be read") from error',
        )
    )

    done = harvest_here(
        "run", "-s", "letters.py:a.letter", "-k", "parquet:out", "--workers", "1",
        cwd=plugin.parent,
    )  # fmt: skip

    assert done.returncode == 1
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert f"this process may have {limit} open at a time" in done.stderr
    assert not list((plugin.parent / "out").glob("letter*"))


@pytest.mark.parametrize(
    ("source", "name", "content"),
    [
        ("darshan", "a.log", b""),  # to be recognised by its content
        ("darshan", "a.darshan", b""),
        ("yappi", "a.txt", b""),
        ("ncem", "4dstem_rec_status_1_scan_2.json", b"{}"),
        ("slurm", "jobs.txt", SACCT.encode()),
    ],
)
def test_sources_pass_over_no_file_that_they_could_not_open(
    tmp_path, monkeypatch, source, name, content
):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / name
    path.write_bytes(content)
    cls = manager().source(source)
    opened = io.open

    def refused(file, *arguments, **options):
        if str(file) == str(path):
            raise OSError(errno.EMFILE, "Too many open files", str(file))
        return opened(file, *arguments, **options)

    monkeypatch.setattr("io.open", refused)
    monkeypatch.setattr("builtins.open", refused)

    with pytest.raises((OSError, SourceError)) as raised:
        collect(cls(str(tmp_path / "in")))

    assert errno.EMFILE in (
        getattr(e, "errno", None) for e in (raised.value, raised.value.__cause__)
    )


# rules among what plugins offer


@pytest.mark.parametrize("words", [("plugins",), ("plugins", "list")])
def test_rules_are_listed_with_their_plugin_and_what_they_look_for(words):
    done = harvest_here(*words, "--kind", "rule", "--json")

    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert found.keys() == set(manager().rules)
    assert found["slurm.timeouts"]["plugin"] == "slurm"
    assert found["slurm.timeouts"]["doc"] == manager().rules["slurm.timeouts"].doc


def test_a_rule_is_shown_with_its_thresholds():
    done = harvest_here("plugins", "show", "slurm.failed_jobs", COLUMNS="120")

    assert done.stdout.startswith("rule slurm.failed_jobs: ")
    assert "slurm.failed_jobs.share  number  0.01" in done.stdout


# a dump without its header


def test_a_dump_without_a_header_names_the_setting_that_helps(tmp_path):
    (tmp_path / "jobs.txt").write_text(SACCT.partition("\n")[2])

    done = harvest_here("run", "-s", "slurm:jobs.txt", "-k", "parquet:out", cwd=tmp_path)

    assert done.returncode == 1
    assert (
        "jobs.txt: no header of sacct in the first line (3 fields by the delimiter" in done.stderr
    )
    assert "--set slurm.columns=JobID,JobName,State,..." in done.stderr


# --- where files, threads or memory run out -------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pl.exceptions.ComputeError("Too many open files (os error 24)"), OSError),
        (pl.exceptions.PanicException("memory allocation of 800 bytes failed"), MemoryError),
        (pa.ArrowException("Failed to launch worker thread: Resource temporarily unavailable"),
         HarvestError),
        (RuntimeError("can't start new thread"), HarvestError),
        (ImportError("libx.so: failed to map segment from shared object"), MemoryError),
        (NameError("name 'PySeries' is not defined"), HarvestError),
    ],
)  # fmt: skip
def test_what_a_library_lacks_is_no_fault_of_who_called_it(error, kind):
    with pytest.raises(kind), contained():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("the field says: Too many open files"),
        pl.exceptions.ComputeError("could not parse `x`"),
        NameError("name 'column' is not defined"),
        RuntimeError("Set changed size during iteration"),
    ],
)
def test_other_errors_are_what_they_are(error):
    assert lack_of(error) is None


class Unspeakable(Exception):
    """An error of an author whose text cannot be made."""

    def __str__(self) -> str:
        raise AssertionError("the text was asked for")


def test_only_the_text_of_a_library_s_error_is_read():
    assert lack_of(Unspeakable()) is None


@pytest.mark.slow
def test_a_run_that_may_open_few_files_says_so(tmp_path: Path):
    pytest.importorskip("harvest_slurm")
    (tmp_path / "jobs.txt").write_text(SACCT)
    words = ("run", "-s", f"slurm:{tmp_path / 'jobs.txt'}", "-k", f"parquet:{tmp_path / 'out'}")

    done = subprocess.run(
        [sys.executable, "-m", "harvest", *words, "--workers", "1"],
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)),
    )  # fmt: skip

    said = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert "too many open files: this process may have 10 open at a time" in said
    assert "author" not in said
