"""A plugin ends neither the program nor its results, and does not keep it from ending.

Each attempt to exit is one line and exit code 1; one that hangs ends with a Ctrl-C.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from commands import harvest_here
from crash import MARK, left_of

import harvest
from harvest.plugin_code import PluginExit, contained

PLUGIN = '''"""A plugin in a file that does what the environment names, and where."""
import ctypes
import os
import sys
import time
import attrs
import typer
import harvest

class Odd(BaseException):
    """Neither an error nor an end."""

ENDS = {
    "exit": SystemExit(0),
    "interrupt": KeyboardInterrupt(),
    "close": GeneratorExit(),
    "odd": Odd("ly"),
    "typer": typer.Exit(0),
}

def here(place):
    if os.environ.get("AT") != place:
        return
    what = os.environ["WHAT"]
    if what in ENDS:
        raise ENDS[what]
    if what == "print":
        print("printed")
        os.system("echo printed by a process")
    if what == "hang":
        print("hanging", flush=True)
        time.sleep(600)
    if what == "hang in C":
        print("hanging", flush=True)
        ctypes.PyDLL(None).sleep(600)
    if what.startswith("fork") and os.fork() == 0:
        if what == "fork and stay":
            time.sleep(600)
        sys.exit(0) if what == "fork and exit" else None

here("import")

@harvest.record("letter.word", layer="workflow", level="client")
class Word(harvest.Record):
    """A word."""
    text: str = harvest.field(doc="What it says.")

class Letters(harvest.Source):
    """Words."""
    name, record_types = "letter", (Word,)

    def __init__(self, location, config=None):
        here("made")
        super().__init__(location, config)

    @classmethod
    def detect(cls, path):
        here("detect")
        if path.suffix == ".letter":
            return harvest.Detection(0.9, "its ending")

    def plan(self):
        here("plan")
        for partition in super().plan():  # so large that each is a worker's
            yield attrs.evolve(partition, size_bytes=2 << 20)

    def prepare(self, partition):
        here("prepare")
        return partition

    def read(self, partition, ctx):
        for word in partition.path.read_text().split():
            ctx.read(1)
            yield Word(text=word)
            here("read")

class Writer(harvest.PartWriter):
    """Writes nothing."""
    def __init__(self, path):
        self.path, self.rows = path, 0
        path.parent.mkdir(parents=True)
        path.touch()
    def write(self, record_type, table):
        here("write")
        self.rows += table.num_rows
    def close(self):
        here("close")
        return [("letter.word/" + self.path.name, "letter.word", self.rows)]
    def abort(self):
        pass

class Sink(harvest.DirectorySink):
    """Keeps nothing."""
    name, suffix = "nowhere", ".no"
    def check(self):
        here("check")
    def writer(self, staging, part):
        return Writer(staging / "letter.word" / (part + ".no"))
    def publish(self, publication):
        here("publish")
        return super().publish(publication)
    def scan(self, files, record_type):
        here("scan")
        raise NotImplementedError

def words(dataset):
    here("view")
    return dataset["letter.word"].select("text")

def judge(rows, judged):
    here("judge")
    return [harvest.Finding("low", "there are words")]

def report(dataset):
    here("report")

VIEW = harvest.View(name="letter.words", doc="Words.", requires=("letter.word",), build=words)
RULE = harvest.Rule(
    name="letter.any", doc="Words.", view="letter.words", columns=("text",), where="text <> ''",
    judge=judge, advice="Write.", reference="",
)
REPORT = harvest.ReportSpec(name="letter.report", doc="Words.", build=report)
'''
LINE = 1 + PLUGIN.splitlines().index("        raise ENDS[what]")

COMMANDS = '''"""A plugin of commands."""
import sys
import typer
import harvest

app = typer.Typer()

@app.command()
def leave(code: int = 0):
    sys.exit(code)

@app.command()
def done(code: int = 0):
    print("done")
    raise typer.Exit(code)

harvest_commands = harvest.declare(harvest.Command(name="vault", doc="Commands.", app=app))
'''


@pytest.fixture
def plugin(tmp_path: Path, no_plugin_files: None) -> Path:
    (tmp_path / "letters.py").write_text(PLUGIN)
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.letter").write_text("one two three\n")
    return tmp_path / "letters.py"


def call(plugin: Path, what: str, at: str, *words: object) -> CompletedProcess[str]:
    """``harvest WORDS...`` in this process, with a plugin that does something somewhere."""
    return harvest_here(*words, cwd=plugin.parent, WHAT=what, AT=at)


def start(plugin: Path, what: str, at: str, *words: str) -> subprocess.Popen[str]:
    """The same in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "harvest", *words],
        cwd=plugin.parent,
        env={**os.environ, "WHAT": what, "AT": at, MARK: str(plugin)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


RUN = ("run", "-s", "letters.py:in", "-k", "jsonl:out", "--workers")
SINK = ("run", "-s", "letters.py:in", "-k", "letters.py:out", "--workers", "1")
FILE = ("--plugin", "letters.py")
SHOWN = {
    "exit": "SystemExit(0)",
    "interrupt": "KeyboardInterrupt()",
    "close": "GeneratorExit()",
    "odd": "Odd('ly')",
    "typer": "Exit(0)",
}


def require_fault(done: CompletedProcess[str], plugin: Path, what: str) -> None:
    """The plugin's fault, in one line that names plugin, file and line."""
    assert (done.returncode, done.stdout) == (1, ""), done
    (line,) = done.stderr.splitlines()
    assert SHOWN[what] in line, line
    assert f"{plugin}:{LINE}" in line, line
    assert "letters.py" in line.partition(f"{plugin}:{LINE}")[2], line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "workers"),
    [*((what, "1") for what in SHOWN if what != "interrupt"), ("exit", "2")],
)
def test_what_read_raises_is_the_fault_of_the_plugin(plugin: Path, what: str, workers: str) -> None:
    done = call(plugin, what, "read", *RUN, workers)

    require_fault(done, plugin, what)
    assert ".letter, after record 1: source " in done.stderr
    assert not (plugin.parent / "out" / "letter.word").exists()


PLACES = {
    "plan": (*RUN, "1"),
    "prepare": (*RUN, "1"),
    "write": SINK,
    "close": SINK,
    "check": SINK,
    "publish": SINK,
    "detect": (*FILE, "detect", "in"),
    "made": ("preview", "-s", "letters.py:in"),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_exit_in_a_run_is_the_fault_of_the_plugin(plugin: Path, place: str) -> None:
    require_fault(call(plugin, "exit", place, *PLACES[place]), plugin, "exit")


ASKED = {
    "view": ("view", "letter.words", "out", "--json"),
    "view in SQL": ("query", "out", 'select * from "letter.words"'),
    "judge": ("findings", "out"),
    "report": ("report", "letter.report", "out", "--json"),
}


@pytest.mark.parametrize(("asked", "what"), [*((a, "exit") for a in ASKED), ("view", "typer")])
def test_an_exit_in_an_answer_is_the_fault_of_the_plugin(
    plugin: Path, asked: str, what: str
) -> None:
    assert call(plugin, "", "", *RUN, "1").returncode == 0

    done = call(plugin, what, asked.partition(" ")[0], *FILE, *ASKED[asked])

    require_fault(done, plugin, what)


def test_a_watch_goes_on_after_an_exit_and_ends_with_1(plugin: Path) -> None:
    words = ("watch", *RUN[1:], "1", "--until-idle", "0")

    done = call(plugin, "exit", "read", *words)

    assert done.returncode == 1, done
    assert f"SystemExit(0), in {plugin}:{LINE}" in done.stderr


def test_a_check_of_a_plugin_lists_an_exit_as_a_promise_that_is_broken(plugin: Path) -> None:
    plugin.write_text(PLUGIN.partition("class Writer")[0])
    words = ("plugins", "check", "letters", "--sample", "in/0.letter")

    done = call(plugin, "exit", "read", *FILE, *words)

    assert done.returncode == 1
    assert "SystemExit(0)" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("letters: "), done.stdout


def test_a_command_of_a_plugin_ends_by_its_code_and_not_by_an_exit(plugin: Path) -> None:
    plugin.write_text(COMMANDS)

    for code in (0, 3):
        done = call(plugin, "", "", *FILE, "vault", "done", "--code", code)
        assert (done.returncode, done.stdout) == (code, "done\n")
        left = call(plugin, "", "", *FILE, "vault", "leave", "--code", code)
        assert left.returncode == 1
        assert f"SystemExit({code}); in {plugin}:10, of plugin 'letters'" in left.stderr


# --- in processes of their own --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interruption_that_nobody_sent_is_the_fault_of_the_plugin(
    plugin: Path, workers: str
) -> None:
    process = start(plugin, "interrupt", "read", *RUN, workers)
    out, said = process.communicate(timeout=120)

    require_fault(CompletedProcess((), process.returncode, out, said), plugin, "interrupt")


PRINTS = {
    "plan": (*RUN, "1", "--json"),
    "read": (*RUN, "1", "--json"),
    "read with workers": (*RUN, "2", "--json"),
    "read for a preview": ("preview", "-s", "letters.py:in", "--json"),
    "detect": (*FILE, "detect", "in", "--json"),
    "read for a check": (*FILE, "plugins", "check", "letters", "--sample", "in/0.letter", "--json"),
    "view": (*FILE, *ASKED["view"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", PRINTS)
def test_what_a_plugin_prints_is_no_result(plugin: Path, place: str) -> None:
    if place == "view":
        assert call(plugin, "", "", *RUN, "1").returncode == 0

    process = start(plugin, "print", place.partition(" ")[0], *PRINTS[place])
    out, said = process.communicate(timeout=120)

    assert process.returncode in (0, 1), said
    while out := out.lstrip():  # nothing but documents of JSON, one or several
        _, end = json.JSONDecoder().raw_decode(out)
        out = out[end:]
    assert "printed\n" in said
    assert "printed by a process\n" in said


def test_in_a_library_a_ctrl_c_stays_one(plugin: Path) -> None:
    with pytest.raises(KeyboardInterrupt), contained():
        raise KeyboardInterrupt
    with pytest.raises(PluginExit), contained():
        raise SystemExit


# --- processes that a plugin forks ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fork and exit", "fork and go on"])
def test_a_process_that_a_plugin_forks_does_none_of_the_run(plugin: Path, what: str) -> None:
    process = start(plugin, what, "read", *RUN, "1")
    out, said = process.communicate(timeout=120)

    assert (process.returncode, said) == (0, "")
    assert harvest.open(plugin.parent / "out").record_types == {"letter.word": 9}
    assert out.count("committed to out") == 1, out


@pytest.mark.slow
def test_a_process_that_a_plugin_forks_does_not_hold_the_lock(plugin: Path) -> None:
    # given a run whose plugin leaves processes behind that live on
    process = start(plugin, "fork and stay", "prepare", *RUN, "1")
    assert process.wait(timeout=120) == 0
    os.killpg(process.pid, 0)
    try:
        with (plugin.parent / "out" / "_harvest" / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


# --- a plugin that hangs --------------------------------------------------------------------------

LINE_SAID = "harvest: interrupted; earlier commits are intact, run again to continue\n"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["plan", "read", "publish"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_plugin_that_hangs_ends_with_a_ctrl_c(plugin: Path, place: str, workers: str) -> None:
    require_end(plugin, "hang", place, workers)


@pytest.mark.slow
def test_a_worker_that_hangs_in_c_ends_with_a_ctrl_c(plugin: Path) -> None:
    # in one process alone nobody could: what holds the interpreter's lock lets no signal through
    require_end(plugin, "hang in C", "read", "2")


def require_end(plugin: Path, what: str, place: str, workers: str) -> None:
    """A Ctrl-C is answered by one line and 130; no process is left, and nothing is lost."""
    words = (*SINK[:-1], workers) if place == "publish" else (*RUN, workers)
    process = start(plugin, what, place, *words)
    assert process.stderr is not None
    assert process.stderr.readline() == "hanging\n"

    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)

    said = said.replace("hanging\n", "")  # of the other worker
    assert (process.returncode, out, said) == (130, "", LINE_SAID)
    assert left_of(str(plugin)) == []
    # and the next run, which does not hang, has all there is
    done = call(plugin, "", "", *words)
    assert done.returncode == 0, done
    assert "written" in done.stdout
