"""The source ``yappi``, with one partition per saved file."""

import ast
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import attrs

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.files import input_path, may_be, walk_files
from harvest.toolkit.settings import positive, setting, within

from .kinds import HEAD, Format, format_of, text_lines
from .records import Call, Function, Thread
from .texts import Subject, parse_callgrind, parse_threads

PICKLE = "a pickle, Yappi's own format ystat: reading it would run whatever code it names"
REMEDY = "save the statistics as pstat or callgrind: get_func_stats().save(path, type='pstat')"

_LARGEST = 16 << 20


@attrs.frozen(kw_only=True)
class YappiConfig:
    """Settings of the source ``yappi``."""

    look_up_kinds: bool = setting(
        "Distinguish coroutines from functions by the source files, if they are here.", False
    )
    max_memory_bytes: int = setting(
        "Most memory to read one pstat file, in bytes; more is a reject.", 2 << 30, positive
    )
    max_seconds: int = setting(
        "Longest time to read one pstat file, in seconds; more is a reject.", 120, within(1, 10**6)
    )


class YappiSource(Source):
    """Reads files that Yappi saved or printed: one file, or all below a directory."""

    name: ClassVar[str] = "yappi"
    record_types: ClassVar[tuple[type[Record], ...]] = (Function, Call, Thread)
    Config: ClassVar[type] = YappiConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Recognise a saved file by its first bytes."""
        kind = format_of(path) if path.is_file() else None
        return Detection(0.9, f"the beginning of a {kind.value}") if kind else None

    def plan(self) -> Iterable[Partition]:
        """Plan one partition per saved file; raise SourceError if there is none."""
        path = input_path(self.location)
        if not path.is_dir():
            if not may_be(path, lambda file: format_of(file) is not Format.YSTAT):
                raise SourceError(PICKLE, where=str(path), remedy=REMEDY)
            return [file_partition(path, id=path.name)]
        saves = list(_saves(path, (file for _, files in walk_files(path) for file in files)))
        if not saves:
            raise SourceError(
                "the directory has no Yappi save",
                where=str(path),
                remedy="name a directory with files saved as callgrind or pstat",
            )
        return saves

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Plan one partition per saved file among some files."""
        path = input_path(self.location)
        return _saves(path, files) if path.is_dir() else None

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Record]:
        """Yield the rows of one saved file; unreadable parts become rejects."""
        path = partition.path
        kind = format_of(path)
        if kind is Format.CALLGRIND:
            yield from self._callgrind(path, ctx)
        elif kind is Format.PSTAT:
            yield from self._pstat(path, ctx)
        elif kind is Format.THREADS:
            yield from _threads(path, ctx)
        else:
            reason = f"{PICKLE}; {REMEDY}" if kind else "neither Yappi's callgrind nor pstat"
            if path.stat().st_size == 0:
                reason = "the file is empty"
            _reject_whole(path, reason, ctx)
        ctx.advance(partition.size_bytes)

    def _callgrind(self, path: Path, ctx: ReadContext) -> Iterator[Record]:
        def reject(line: int, text: str, reason: str) -> None:
            ctx.read(1)
            ctx.reject(text, reason, position=line, record_type="yappi.function")

        profile = parse_callgrind(text_lines(path), reject)
        ctx.read(len(profile.functions) + len(profile.edges))
        if profile.unnamed:
            unnamed = count_in_words(profile.unnamed, "called function")
            ctx.note(f"{unnamed} without a name in the save of an older Yappi: named by number")
        ctx.folded(len(profile.functions) - len(profile.named), "further number of a function")
        known = sum(s.own_us is not None or s.calls > 0 for s in profile.named.values())
        if known < max(1, len(profile.named)):
            ctx.note(f"costs or calls of only {known} of its functions: the save may be cut short")
        for subject in profile.named.values():
            if subject.calls >= 2**63:
                reason = f"{subject.calls} calls in all do not fit into 64 bits"
                ctx.reject(subject.name, reason, position=subject.line,
                           record_type="yappi.function")  # fmt: skip
                continue
            # total time, by two sums: its time in all callers' calls, and own time plus callees'
            # time; a sum is too small if a caller or a callee was not profiled
            below = (subject.own_us or 0) + subject.below_us
            # without an own cost and without callers, the total is unknown
            is_known = subject.own_us is not None or subject.calls
            costs = {
                "ncall": subject.calls or None,
                "tsub_s": None if subject.own_us is None else subject.own_us / 1e6,
                "ttot_s": max(subject.above_us, below) / 1e6 if is_known else None,
            }
            yield self._function(subject, costs, profile.pid)
        for edge in profile.edges:
            costs = {"ncall": edge.calls, "tsub_s": None, "ttot_s": edge.us / 1e6}
            yield _call(edge.caller, edge.callee, profile.pid, position=edge.line, **costs)

    def _pstat(self, path: Path, ctx: ReadContext) -> Iterator[Record]:
        memory, seconds = self.config.max_memory_bytes, self.config.max_seconds
        rows = _read_pstat(path, ctx.scratch, memory=memory, seconds=seconds)
        try:
            for number, (what, *values) in enumerate(rows, start=1):
                ctx.read(1)
                if what == "bad":
                    ctx.reject(values[0], values[1], position=number, record_type="yappi.function")
                    continue
                # pstats writes primitive calls first, Yappi all calls first
                *places, first, second, own, total = values
                costs = {"ncall": max(first, second), "tsub_s": own, "ttot_s": total}
                if what == "function":
                    costs["primitive_calls"] = min(first, second)
                    yield self._function(Subject(*places[0]), costs)
                else:
                    yield _call(Subject(*places[0]), Subject(*places[1]), **costs)
        except _Unreadable as error:
            _reject_whole(path, str(error), ctx)

    def _function(
        self, place: Subject, costs: Mapping[str, Any], pid: int | None = None
    ) -> Function:
        calls, total = costs["ncall"], costs["ttot_s"]
        return Function(
            name=place.name,
            module=place.module,
            lineno=place.lineno,
            kind=kind_of(place.module, place.lineno) if self.config.look_up_kinds else None,
            tavg_s=total / calls if calls and total is not None else None,
            pid=pid,
            position=place.line,
            **costs,
        )


class _Unreadable(Exception):
    """Raised for a pstat file that cannot be read; its text is the reason."""


def _read_pstat(path: Path, scratch: Path, *, memory: int, seconds: int) -> Iterator[list[Any]]:
    """Yield the rows of a pstat file, which ``unmarshal`` reads in a separate process.

    scratch: a directory for its output; memory, seconds: its limits in bytes and CPU seconds.

    Raises _Unreadable if the file is not a pstat, or the process crashes or exceeds a limit.
    """
    output = scratch / "pstat.jsonl"
    program = Path(__file__).with_name("unmarshal.py")
    command = [sys.executable, "-I", *map(str, (program, path, output, memory, seconds))]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds + 5, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _Unreadable(f"reading it took more than {seconds} s") from error
    if done.returncode:
        raise _Unreadable(_reason(done, seconds))
    with output.open(encoding="ascii") as lines:
        for line in lines:
            yield json.loads(line)
    output.unlink()


def _reason(done: subprocess.CompletedProcess[bytes], seconds: int) -> str:
    lines = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    last = lines[-1] if lines else ""
    if done.returncode == -signal.SIGXCPU or done.returncode == -signal.SIGKILL:
        return f"reading it took more than {seconds} s"
    if done.returncode < 0:
        return f"reading it crashed the reader with {signal.Signals(-done.returncode).name}"
    if last.startswith("MemoryError"):
        return "reading it took more memory than max_memory_bytes"
    return last or f"the reader ended with status {done.returncode}"


def _call(caller: Subject, callee: Subject, pid: int | None = None, **more: Any) -> Call:
    return Call(
        caller=caller.name,
        caller_module=caller.module,
        caller_lineno=caller.lineno,
        name=callee.name,
        module=callee.module,
        lineno=callee.lineno,
        pid=pid,
        **more,
    )


def _threads(path: Path, ctx: ReadContext) -> Iterator[Record]:
    def reject(line: int, text: str) -> None:
        ctx.read(1)
        ctx.reject(text, "not a row of a thread table", position=line, record_type="yappi.thread")

    for row in parse_threads(text_lines(path), reject):
        ctx.read(1)
        yield row


def _reject_whole(path: Path, reason: str, ctx: ReadContext) -> None:
    ctx.read(1)
    with path.open("rb") as file:
        ctx.reject(file.read(HEAD), reason, record_type="yappi.function")


def _saves(folder: Path, files: Iterable[Path]) -> Iterator[Partition]:
    """Yield a partition for each saved file below a directory, also for pickles, to reject them."""
    for path in files:
        if may_be(path, format_of):
            yield file_partition(path, id=path.relative_to(folder).as_posix())


def kind_of(module: str | None, lineno: int | None) -> str | None:
    """Return ``function`` or ``coroutine``; None if no source file has a definition there."""
    if module is None or lineno is None or not module.endswith(".py"):
        return None
    return _definitions(module).get(lineno)


@lru_cache(maxsize=256)
def _definitions(module: str) -> dict[int, str]:
    path = Path(module)
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        # the file is of another machine or Python version, so its kinds are unknown
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # a code object begins at its first decorator
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[first] = "coroutine" if isinstance(node, ast.AsyncFunctionDef) else "function"
    return found
