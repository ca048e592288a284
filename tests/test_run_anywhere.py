"""``harvest.run`` works wherever Python does, with workers, and no program is executed twice.

Each test has the same few lines executed in another way.  They note each execution of theirs in a
file, so that a worker process that executes them again is noticed; each input says which process
has read it, so that the test knows that there were worker processes.
"""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from harvest_paced import MUCH

import harvest
from harvest.plugins.registered import loaded

pytestmark = pytest.mark.slow
with_both_engines = pytest.mark.parametrize("engine", ["local", "dask"])

PROGRAM = """\
import os, harvest
notes = open({notes!r}, "a")
print(os.getpid(), file=notes, flush=True)
result = harvest.run({source!r}, {sink!r}, engine={engine!r}, workers=2)
print("harvested", result.account.written)
"""

SECONDS = 120


class Case:
    """An input of two partitions, the program that harvests it, and what came of it."""

    def __init__(self, folder: Path, paced: Path, engine: str):
        self.folder, self.out = folder, folder / "out"
        inputs = folder / "in"
        inputs.mkdir()
        for number in range(2):  # each too large to be read with the other
            (inputs / f"{number}.txt").write_text(f"{MUCH}\nprocess\n")
        self.notes = folder / "notes"
        self.source, self.sink = f"paced:{inputs}", f"parquet:{self.out}"
        self.program = PROGRAM.format(
            source=self.source, sink=self.sink, engine=engine, notes=str(self.notes)
        )
        path = os.pathsep.join((str(paced), os.environ["PYTHONPATH"]))
        self.env = {**os.environ, "PYTHONPATH": path, "TERM": "dumb"}

    def readers(self) -> list[int]:
        """The processes that read the inputs; of all rows there is one each."""
        rows = harvest.open(self.out)["paced.line"].collect()
        assert rows.height == 4
        return [int(text) for text in rows["text"] if text != MUCH]

    def check(self, by: int | None = None) -> None:
        """The program was executed once, and other processes did its work."""
        (program,) = self.notes.read_text().split() if by is None else [by]
        readers = self.readers()
        assert len(readers) == 2
        assert int(program) not in readers


@pytest.fixture
def engine() -> str:
    """The engine of a test that is not made with both."""
    return "local"


@pytest.fixture
def case(
    tmp_path: Path, paced: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Case]:
    if engine == "dask":
        pytest.importorskip("distributed", reason="the package distributed is not installed")
    made = Case(tmp_path, paced, engine)
    monkeypatch.syspath_prepend(paced)  # for the tests that harvest in this process
    monkeypatch.setenv("PYTHONPATH", made.env["PYTHONPATH"])
    loaded.clear()  # other tests of this process may have asked for the plugins
    yield made
    loaded.clear()


WAYS = {
    "a script": ["script.py"],
    "a module": ["-m", "script"],
    "standard input": ["-"],
    "the command line": ["-c", "the program"],
}


@with_both_engines
@pytest.mark.parametrize("way", WAYS)
def test_a_program_without_a_main_guard(case: Case, way: str) -> None:
    (case.folder / "script.py").write_text(case.program)
    words = [case.program if word == "the program" else word for word in WAYS[way]]
    done = subprocess.run(
        [sys.executable, *words], input=case.program, env=case.env, cwd=case.folder,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.stdout == "harvested 4\n", done.stderr
    assert "Traceback" not in done.stderr
    case.check()


@pytest.mark.parametrize("options", [["-i", "-q"], ["-m", "IPython", "--simple-prompt"]])
def test_lines_typed_into_a_shell(case: Case, options: list[str]) -> None:
    if "IPython" in options:
        pytest.importorskip("IPython", reason="IPython is not installed")
    prompt = r"In \[\d+\]: " if "IPython" in options else ">>> "
    shell = pexpect.spawn(
        sys.executable, options, env={**case.env, "IPYTHONDIR": str(case.folder)},
        cwd=str(case.folder), timeout=SECONDS, encoding="utf-8", dimensions=(24, 1000),
    )  # fmt: skip
    for line in case.program.splitlines():
        shell.expect(prompt)
        shell.sendline(line)
    shell.expect("harvested 4")
    shell.expect(prompt)
    shell.sendline("exit()")
    shell.expect(pexpect.EOF)

    assert "Traceback" not in (shell.before or "")
    case.check()


@with_both_engines
def test_a_cell_of_a_notebook(case: Case) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    cells = [nbformat.v4.new_code_cell(line) for line in case.program.splitlines()]
    notebook = nbformat.v4.new_notebook(cells=cells)

    nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute(
        cwd=str(case.folder)
    )

    (output,) = notebook.cells[-1].outputs
    assert output.text == "harvested 4\n"
    case.check()


def test_a_thread_other_than_the_main_one(case: Case, engine: str) -> None:
    results = []

    def harvest_there() -> None:
        results.append(harvest.run(case.source, case.sink, engine=engine, workers=2))

    thread = threading.Thread(target=harvest_there)
    thread.start()
    thread.join(SECONDS)

    (result,) = results
    assert result.account.written == 4
    case.check(by=os.getpid())


@with_both_engines
def test_inside_a_running_loop_of_asyncio(case: Case, engine: str) -> None:
    async def program() -> harvest.RunResult:
        return harvest.run(case.source, case.sink, engine=engine, workers=2)

    assert asyncio.run(program()).account.written == 4
    case.check(by=os.getpid())
