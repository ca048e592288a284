"""Whether tests notice small wrong changes of the kernel's code, such as people make.

    python tests/support/mutate.py cover tests/test_parts.py ...
    python tests/support/mutate.py try --seed 37 --from 0 --count 300

The first keeps which quick tests run which lines; the second changes the kernel at random places,
one at a time and in place, and puts it back: use a clone that nobody else works in.
Leave out tests that use polars' threads while they are collected (`test_model_schema.py`,
`test_export.py`, `test_exporters.py`), since processes are forked.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from itertools import accumulate, chain
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "mutation"
QUICK = ["-q", "-p", "no:cacheprovider", "-m", "not slow"]
TURNED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST | str]]:
    """What can go wrong with a node: the kind, what is replaced, and by what."""
    match node:
        case ast.Compare(left, [sign], [right]):
            yield "comparison turned", node, ast.Compare(left, [TURNED[type(sign)]()], [right])
        case ast.BoolOp(sign, values):
            yield "and/or", node, ast.BoolOp(TURNED[type(sign)](), values)
        case ast.If(test) | ast.While(test) | ast.IfExp(test) | ast.comprehension(ifs=[test]):
            yield "condition negated", test, ast.UnaryOp(ast.Not(), test)
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return value", value, "None"
        case ast.Constant(bool() as value):
            yield "constant", node, repr(not value)
        case ast.Constant(int() | float() as value):
            yield "constant", node, repr(value + 1)
        case ast.Constant(str() | bytes() as value) if value:
            yield "constant", node, repr(value[:0])
        case (
            ast.Expr(ast.Call() | ast.Yield() | ast.YieldFrom())
            | ast.Assign([ast.Attribute() | ast.Subscript()])
            | (ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Continue() | ast.Break())
        ):
            yield "statement removed", node, "pass"


def decisions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, but for imports, annotations, docstrings and texts with values."""
    yield node
    for name, field in ast.iter_fields(node):
        for child in field if isinstance(field, list) else [field]:
            match child:
                case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()):
                    pass
                case ast.If(ast.Name("TYPE_CHECKING")) | ast.Assign([ast.Name("__all__")]):
                    pass
                case ast.AST() if name not in ("annotation", "returns"):
                    yield from decisions(child)


def mutants_of(path: Path) -> Iterator[tuple[Path, int, str, slice, str]]:
    """Every change of a module: its line, its kind, and which bytes become which text."""
    source = path.read_bytes()
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    for node in decisions(ast.parse(source)):
        for kind, old, new in changes(node):
            start = starts[old.lineno - 1] + old.col_offset
            where = slice(start, starts[old.end_lineno - 1] + old.end_col_offset)
            text = new if isinstance(new, str) else f"({ast.unparse(new)})"
            yield path, old.lineno, kind, where, text


def cover(tests: list[str]) -> None:
    """Keep which lines each test runs, in processes that it starts too, and how long it took."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    settings, seconds = FOLDER / "coveragerc", {}
    what = f"source = {ROOT}/src/harvest\ndata_file = {FOLDER}/data\nparallel = true"
    settings.write_text(f"[run]\n{what}\ncontext = ${{PYTEST_CURRENT_TEST-}}\n")
    os.environ["COVERAGE_PROCESS_START"] = str(settings)
    recorder = coverage.Coverage(config_file=str(settings))

    class Watch:
        def pytest_runtest_setup(self, item):
            recorder.switch_context(item.nodeid)

        def pytest_runtest_logreport(self, report):
            if report.when == "call" and report.passed:
                seconds[report.nodeid] = report.duration

    with recorder.collect():
        pytest.main([*QUICK, *tests], plugins=[Watch()])
    recorder.combine()
    data, ran = recorder.get_data(), {}
    for name in data.measured_files():
        lines = data.contexts_by_lineno(name).items()
        ran[name] = {
            n: [c.split("|")[-1].removesuffix(" (call)") for c in each] for n, each in lines
        }
    (FOLDER / "ran.json").write_text(json.dumps({"seconds": seconds, "ran": ran}))


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A code and all that is defined in it, in order."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)


def change_functions(path: Path, source: bytes, changed: bytes) -> bool:
    """Let this process have a module as changed; whether the change is of functions alone."""
    olds, news = (list(codes_of(compile(each, str(path), "exec"))) for each in (source, changed))
    if [code.co_freevars for code in olds] != [code.co_freevars for code in news]:
        return False  # a function does not take a code with other variables from around it
    become = dict(zip(olds, news, strict=True))
    own = {old for old, new in become.items() if body(old) != body(new)}
    found = [f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__ in own]
    for function in found:
        function.__code__ = become[function.__code__]
    return len(own) == len({body(old) for old in own}) == 1 and bool(found)


def body(code: CodeType) -> tuple[Any, ...]:
    """What a code does itself, without what is defined in it."""
    consts = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, tuple(consts)


class Mutation:
    """Tries mutants in processes that are forked from one that has collected all tests."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.known = json.loads((FOLDER / "ran.json").read_text())
        self.sound: set[str] = set()

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.write_text(report.nodeid)
            os._exit(1)

    def pytest_runtestloop(self, session):
        self.items = {item.nodeid: item for item in session.items}
        self.failed = FOLDER / "failed"
        kernel = [ROOT / "src" / "harvest" / name for name in ("pipeline", "storage", "model")]
        modules = sorted(path for folder in kernel for path in folder.glob("*.py"))
        mutants = [mutant for module in modules for mutant in mutants_of(module)]
        random.Random(self.given.seed).shuffle(mutants)
        for number in range(self.given.first, self.given.first + self.given.count):
            print(number, self.attempt(*mutants[number]), flush=True)
        return True

    def attempt(self, path: Path, line: int, kind: str, where: slice, text: str) -> str:
        """Try a mutant by the tests that run its line, or else its module, the fastest first."""
        lines, seconds = self.known["ran"].get(str(path), {}), self.known["seconds"]
        known = self.items.keys() & seconds.keys()
        those = known & set(lines.get(str(line), ())) or known & set(chain(*lines.values()))
        ordered = sorted(those, key=seconds.get)
        sums = accumulate(map(seconds.get, ordered))
        fit = sum(total <= self.given.budget for total in sums)
        tests = ordered[: max(fit, 1)]
        source, status = path.read_bytes(), path.stat()
        changed = source[: where.start] + text.encode() + source[where.stop :]
        self.failed.unlink(missing_ok=True)
        try:
            path.write_bytes(changed)
            ended = self.passes(tests, lambda: change_functions(path, source, changed))
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # what is compiled is of it
        by = self.failed.read_text() if ended == 1 and self.failed.exists() else ""
        if by and by not in self.sound:
            if self.passes([by], lambda: True) != 0:  # it fails in any case
                del self.items[by]
                return self.attempt(path, line, kind, where, text)
            self.sound.add(by)
        word = {0: "SURVIVED", pytest.ExitCode.INTERNAL_ERROR: "NOT TRIED"}.get(ended, "caught")
        what = f"{source[where].decode()!r} -> {text!r}"
        return f"{word} ({len(tests)} tests): {path.relative_to(ROOT)}:{line} {kind}: {what} {by}"

    def passes(self, tests: list[str], prepare: Callable[[], bool]) -> int:
        """The exit code of a process that runs the tests: 0 where all pass."""
        child = os.fork()
        if child == 0:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(3 * self.given.budget + 20),) * 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            if tests and not prepare():  # it is of what is done at the import
                files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
                few = tuple(files[:3])  # that are collected anew
                words = [*QUICK, "-x", *(test for test in tests if test.startswith(few))]
                os.execv(sys.executable, [sys.executable, "-m", "pytest", *words])
            for test, following in zip(tests, [*tests[1:], None], strict=True):
                item, after = self.items[test], self.items.get(following)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            os._exit(0)
        end, ended = time.monotonic() + 10 * self.given.budget + 60, None
        while not ended and time.monotonic() < end:
            time.sleep(0.01)
            ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # with what it started
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=["cover", "try"])
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--seed", type=int, default=37)
    parser.add_argument("--from", type=int, default=0, dest="first", help="among the mutants")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests for a mutant")
    given = parser.parse_args()
    os.chdir(ROOT)
    if given.do == "cover":
        cover(given.tests)
        return
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # nothing compiled of a mutant stays
    place = ["-s", f"--basetemp={FOLDER / 'tests'}"]
    sys.exit(pytest.main([*QUICK, *place, *given.tests], plugins=[Mutation(given)]))


if __name__ == "__main__":
    main()
