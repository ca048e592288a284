"""Promises about what is around a source: it leaves nothing, prints nothing, and can be stopped."""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harvest import Partition, ReadContext, Source, SourceError
from harvest.toolkit.texts import printable
from harvest_testing.lab.globals import at_home_in, open_files
from harvest_testing.promise import promise, require

from .inputs import damaged_copies
from .kit import SourceKit
from .reading import read_all


class _Interrupted(ReadContext):
    """A context in which the user presses Ctrl-C at a call, which it counts."""

    calls_left = 0

    def _call(self) -> None:
        self.calls_left -= 1
        if self.calls_left < 0:
            raise KeyboardInterrupt

    def read(self, units: int) -> None:
        self._call()
        super().read(units)

    def advance(self, size: int) -> None:
        self._call()

    def reject(self, raw: bytes | str, reason: str, **more: Any) -> None:
        self._call()
        super().reject(raw, reason, **more)


class SurroundingPromises(SourceKit):
    """The tests of what reading leaves behind, and of stopping it."""

    @promise("reading leaves no file behind, wherever, and prints nothing", quick=True)
    def test_nothing_is_left_behind(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        home = tmp_path / "home"
        said = io.StringIO()
        gc.collect()
        redirected = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
        with at_home_in(home), redirected[0], redirected[1], _warnings() as warned:
            self.read(location)
            for copy in damaged_copies(location, tmp_path):
                with contextlib.suppress(SourceError):
                    read_all(self.open(copy))
            gc.collect()
        left = [str(path.relative_to(home)) for path in sorted(home.rglob("*"))]
        require(
            not left,
            f"left in the directory of temporary files, at home or where it works: {left}",
            "write temporary files to ctx.scratch, which the core removes",
        )
        require(
            not said.getvalue(),
            f"it prints {said.getvalue()[:200]!r}",
            "use ctx.note for remarks and ctx.log for debugging",
        )
        unclosed = [text for text in warned if str(tmp_path) in text] + open_files(tmp_path)
        require(
            not unclosed, f"left open: {unclosed[:3]}", "open files in a `with` block within read()"
        )

    @promise("Ctrl-C ends reading wherever it is", quick=True)
    def test_interrupts_pass(self, tmp_path: Path) -> None:
        source = self.open(self.make(tmp_path))
        for partition in self.partitions(source):
            with tempfile.TemporaryDirectory() as scratch:
                for calls in (0, 1, 2, 3, 5, 8):
                    ctx = _Interrupted(printable(partition.origin), Path(scratch))
                    ctx.calls_left = calls
                    _require_interrupted(source, partition, ctx)
                _require_ends_at_yield(source, partition, Path(scratch))
        for path in _files_of_package(type(source)):
            lines = list(_catching_all(path.read_text("utf-8")))
            require(
                not lines,
                f"{path.name}, line {lines[:1]}: what catches everything catches Ctrl-C, too",
                "catch the exceptions that you expect by name, Exception at most",
            )


def _require_interrupted(source: Source, partition: Partition, ctx: _Interrupted) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        for _ in source.read(partition, ctx):
            pass
        require(
            ctx.calls_left >= 0,
            "reading went on after a KeyboardInterrupt in a call of the context",
            "catch the exceptions that you expect by name, Exception at most",
        )


def _require_ends_at_yield(source: Source, partition: Partition, scratch: Path) -> None:
    rows = iter(source.read(partition, ReadContext(printable(partition.origin), scratch)))
    if not hasattr(rows, "throw"):
        return
    for _ in rows:
        try:
            rows.throw(KeyboardInterrupt())
        except KeyboardInterrupt:
            return
        except StopIteration:
            pass
        require(
            False,
            "reading went on, or ended without a word, after a KeyboardInterrupt at a yield",
            "catch the exceptions that you expect by name, Exception at most",
        )


def _files_of_package(cls: type) -> list[Path]:
    """The imported modules of the package that a class is from."""
    package = cls.__module__.rpartition(".")[0] or cls.__module__
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name == cls.__module__ or name.startswith(f"{package}.")
    ]
    files = {getattr(module, "__file__", None) for module in modules}
    return sorted(Path(file) for file in files if file and file.endswith(".py"))


def _catching_all(code: str) -> Iterator[int]:
    """Lines of handlers that catch KeyboardInterrupt and never raise again."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ExceptHandler) and not any(
            isinstance(inner, ast.Raise) for inner in ast.walk(node)
        ):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {kind.id for kind in kinds if isinstance(kind, ast.Name)}
            if node.type is None or names & {"BaseException", "KeyboardInterrupt"}:
                yield node.lineno


@contextlib.contextmanager
def _warnings() -> Iterator[list[str]]:
    """Texts of warnings of files that nobody closed."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ResourceWarning)
        yield texts
        texts += [str(warning.message) for warning in caught]
