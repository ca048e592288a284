"""Ctrl-C and SIGTERM at any instant: one line, exit code 130, no process left.

A run is interrupted at random instants of its life, start-up and end included.

What comes before the program's first line is the interpreter's own (its start, its ``site``, and
the few modules of the standard library that handle signals): SIGTERM then ends the process silently
and SIGINT with Python's message.  A test recognises it by the process's own account of the signals
that it has handlers for: Python has one for SIGINT from its start, and for SIGTERM only the program
has one.  Where SIGTERM had no handler yet when the signal was sent, the interpreter's outcomes are
accepted too.  A signal that comes when the work is done and said changes nothing any more.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest
import worker_functions
from crash import MARK, left_of
from eventually import eventually
from night import NIGHT, SEED

import harvest
from harvest import interrupt

INTERRUPTS = 200 if NIGHT else 2
EACH = 4
"""Instants that one test tries on one dataset."""

LINE = "harvest: interrupted; earlier commits are intact, run again to continue\n"
AT_START = "harvest: interrupted; nothing was begun\n"
SUPPORT = str(Path(worker_functions.__file__).parent)
ROWS = 40 * 500


# --- a run at random instants ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small inputs, of which several are read together, and large ones for one worker each."""
    pytest.importorskip("harvest_gpfs")
    folder = tmp_path_factory.mktemp("lists")
    for number in range(40):
        lines = [f"{inode} 2 0  -- /{number}/{inode}\n" for inode in range(500)]
        (folder / f"{number}.list").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def whole_life(lists: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds that a run takes that nobody interrupts."""
    begun = time.monotonic()
    process = start(lists, tmp_path_factory.mktemp("whole") / "out", 1)
    assert process.communicate() == (None, "")
    return time.monotonic() - begun


def start(lists: Path, out: Path, workers: int) -> subprocess.Popen[str]:
    words = ["run", "-s", f"gpfs:{lists}", "-k", f"parquet:{out}", "--workers", str(workers)]
    words += ["--json", "--force"]
    return subprocess.Popen(
        [sys.executable, "-m", "harvest", *words],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {MARK: str(out)},
    )


@attrs.frozen
class Interruption:
    """A signal that was sent, and what came of it; handled: whether SIGTERM had a handler then."""

    number: signal.Signals
    handled: bool
    status: int
    said: str

    def is_clean(self) -> bool:
        outcomes = {(130, LINE), (130, AT_START), (0, "")}
        if self.handled:
            return (self.status, self.said) in outcomes
        by_interpreter = "KeyboardInterrupt" in self.said and self.number == signal.SIGINT
        return (
            (self.status, self.said) in {*outcomes, (-signal.SIGTERM, ""), (-signal.SIGINT, "")}
        ) or by_interpreter


def interrupted(
    process: subprocess.Popen[str], number: signal.Signals, group: bool
) -> Interruption:
    handled = _handles_termination(process.pid)
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if group else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=120)
    return Interruption(number, handled, process.returncode, said or "")


def _handles_termination(pid: int) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return True  # it has ended already


@pytest.mark.slow
@pytest.mark.parametrize("life", range(-(-INTERRUPTS // EACH)))
def test_an_interruption_at_any_instant_is_one_line(
    life: int, lists: Path, whole_life: float, tmp_path: Path
) -> None:
    rng = random.Random(f"{SEED} {life}")
    print(f"HARVEST_NIGHT={SEED}")
    out = tmp_path / "out"
    number = (signal.SIGINT, signal.SIGTERM)[life % 2]
    for turn in range(EACH):
        # given a run with one or two workers
        process = start(lists, out, 1 + turn // 2)
        instant = rng.uniform(0, whole_life)
        time.sleep(instant)

        # when a signal comes for it, or for its group
        outcome = interrupted(process, number, group=bool(turn % 2))

        # then it ends with one line, and with all its workers
        print(f"after {instant:.3f} of {whole_life:.3f} s: {outcome}")
        assert outcome.is_clean(), outcome
        eventually(lambda: not left_of(str(out)), "a process is left")

    # and the next run finds everything in order
    harvest.run(f"gpfs:{lists}", f"parquet:{out}", workers=1, force=True)
    assert harvest.open(out)["gpfs.file"].collect().height == ROWS


# --- where in the program it comes ----------------------------------------------------------------


def ended(code: str, *numbers: signal.Signals, pause_s: float = 0.0) -> tuple[int, str, str]:
    """Run code as the program would, and send it signals when it says that it is there."""
    begin = "from harvest import interrupt; interrupt.install(); import time\n"
    process = subprocess.Popen(
        [sys.executable, "-c", begin + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=SUPPORT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    for count, number in enumerate(numbers):
        time.sleep(pause_s * bool(count))
        process.send_signal(number)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


both = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])


@both
def test_with_nothing_to_clear_up_the_process_ends_at_once(number: signal.Signals) -> None:
    code = "print('there', flush=True); time.sleep(3600)"

    assert ended(code, number) == (130, "", LINE)


WAITING = """
try:
    with interrupt.orderly():
        print("there", flush=True)
        interrupt.sleep(3600)
"""


@both
def test_orderly_work_is_given_up_at_a_safe_point(number: signal.Signals) -> None:
    code = f"""{WAITING}finally:
    print("cleared up", flush=True)
    interrupt.finish()
"""
    status, out, err = ended(code, number)

    assert out == "cleared up\n"
    assert "KeyboardInterrupt" in err  # as nobody takes it here
    assert status != 0


@pytest.mark.slow
def test_orderly_work_that_comes_to_no_safe_point_ends_all_the_same() -> None:
    code = """
with interrupt.orderly():
    print("there", flush=True)
    time.sleep(3600)
"""
    assert ended(code, signal.SIGTERM) == (130, "", LINE)


@pytest.mark.slow
def test_a_deferred_step_is_finished() -> None:
    code = f"""
with interrupt.orderly():
    with interrupt.deferred():
        print("there", flush=True)
        time.sleep({2 * interrupt.GRACE_S})
        print("finished", flush=True)
    time.sleep(3600)
"""
    assert ended(code, signal.SIGINT) == (130, "finished\n", LINE)


def test_a_second_signal_ends_what_takes_too_long_to_clear_up() -> None:
    code = f"""{WAITING}finally:
    time.sleep(3600)
"""
    assert ended(code, signal.SIGINT, signal.SIGINT, pause_s=1.0) == (130, "", LINE)


def test_the_same_wish_in_two_ways_is_one() -> None:
    """As when a shell and a batch system both pass it on."""
    code = f"""{WAITING}except KeyboardInterrupt:
    time.sleep(0.2)
    print("cleared up", flush=True)
"""
    _, out, err = ended(code, signal.SIGINT, signal.SIGTERM)

    assert (out, err) == ("cleared up\n", "")


def test_a_signal_in_a_destructor_is_one_line() -> None:
    """Python passes no exception on from there: it prints it, and forgets it."""
    code = """
class Slow:
    def __del__(self):
        print("there", flush=True)
        time.sleep(0.5)

with interrupt.orderly():
    Slow()
    interrupt.sleep(3600)
"""
    status, _, err = ended(code, signal.SIGINT)

    assert "Exception ignored" not in err
    assert status != 0


def test_a_signal_after_the_end_changes_nothing() -> None:
    code = "interrupt.finish(); print('there', flush=True); time.sleep(1); print('said')"

    assert ended(code, signal.SIGINT, signal.SIGTERM) == (0, "said\n", "")


# --- the library ----------------------------------------------------------------------------------


@pytest.mark.pandas
def test_importing_harvest_changes_nothing_in_the_process() -> None:
    pytest.importorskip("pandas")
    # given what the libraries that harvest stands on leave behind
    code = """
import attrs, duckdb, importlib.machinery, pandas, polars, pyarrow, typer
import gc, os, signal, sys, threading

def state():
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    hooks = sys.meta_path, sys.path_hooks, sys.excepthook, sys.unraisablehook
    garbage = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()
    patched = importlib.machinery.SourceFileLoader.exec_module, type(sys.modules["pandas"])
    return list(map(list, hooks[:2])), hooks[2:], handlers, garbage, patched, dict(os.environ)

before = state()
import harvest, harvest.cli.app, harvest.cli.main, harvest.pipeline.runner, harvest.engines.pool
import harvest.model.arrow, harvest.model.json, harvest.dataset, harvest_report
after = state()
print(before == after, threading.active_count(), type(harvest).__name__, type(harvest.run).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "True 1 module function\n"


def test_the_program_handles_signals_before_it_imports_anything_large() -> None:
    code = """
import sys
from harvest import __main__
print(*sorted({name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names))
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=os.environ | {"PYTHONPATH": str(Path(harvest.__file__).parents[1])},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.split() == ["__main__", "harvest"]


@pytest.mark.slow
def test_in_a_library_ctrl_c_stays_what_it_is_and_workers_end(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"""
from harvest.engines import pool
import worker_functions as work
try:
    list(pool.apply(work.endless, [{str(pids)!r}] * 2, workers=2))
except KeyboardInterrupt:
    print("stopped")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=SUPPORT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, env=os.environ | {MARK: str(pids)},
    )  # fmt: skip
    while not pids.exists() or len(pids.read_text().split()) < 2:
        time.sleep(0.02)

    os.killpg(process.pid, signal.SIGINT)

    assert process.communicate(timeout=120) == ("stopped\n", "")
    assert left_of(str(pids)) == []
