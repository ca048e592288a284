"""The process that the local engine's workers are forked from.

It imports what the workers need, once for all of them, and must run no thread: a fork copies the
thread that forks alone, and whatever lock another one holds stays taken for ever.  So the
libraries that would start threads are kept from it or told not to; a module that needs one of the
former is imported by each worker itself.

It can be started ahead, before it is known what to read and with what: ``begin`` names what every
worker needs, and ``fork_context`` the rest.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from multiprocessing import forkserver, resource_tracker, util
from pathlib import Path
from types import ModuleType
from typing import Any, Final

__all__ = ["begin", "fork_context"]

_THREADED: Final = frozenset(("polars",))

_QUIET: Final = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # of pyarrow's memory pool
    "OPENBLAS_NUM_THREADS": "1",  # of numpy
}

_MEMORY: Final = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
"""For glibc: columns of one batch are freed and those of the next, as large, taken at once.

By default their pages would go back to the system in between, to be cleared again.
"""

_MODULES: Final = "HARVEST_FORK_MODULES"
"""Environment variable that tells the process what to import first."""

_PIPE: Final = "HARVEST_FORK_PIPE"
"""Environment variable that tells where the process is told what else to import, in one line."""

_pipe: int | None = None
"""That pipe, from when the process was started.

It stays open when all was told: what is in a pipe is lost when nobody holds it.
"""

_told = False


def begin(modules: Sequence[str]) -> None:
    """Start the process that workers are forked from, and let it import these modules.

    It goes on when ``fork_context`` is called, and ends with this process.  Nothing happens where
    it was begun already.
    """
    global _pipe
    if _pipe is not None:
        return
    multiprocessing.get_context("forkserver").set_forkserver_preload([__name__])
    resource_tracker.ensure_running()
    path = Path(util.get_temp_dir()) / "modules"
    os.mkfifo(path, 0o600)
    _pipe = os.open(path, os.O_RDWR)
    wanted = {**_QUIET, **_MEMORY, _MODULES: " ".join(modules), _PIPE: str(path)}
    with _environment(wanted), _blocked(signal.SIGINT):
        forkserver.ensure_running()


def fork_context(modules: Sequence[str]) -> Any:
    """A context of multiprocessing whose processes have these modules imported.

    The process they are forked from is started at the first call, unless it was begun, and lives
    as long as this one; what later calls name is imported by each worker.
    """
    global _told
    begin(())
    assert _pipe is not None
    if not _told:
        os.write(_pipe, (" ".join(dict.fromkeys(modules)) + "\n").encode())
        _told = True
    with _blocked(signal.SIGINT):
        forkserver.ensure_running()
    return multiprocessing.get_context("forkserver")


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    """Keep a signal from processes that are started: a Ctrl-C is for this one to act on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Keeper(MetaPathFinder):
    """Keeps libraries that start threads from being imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _THREADED:
            raise ImportError(f"{fullname} would start threads before the fork", name=fullname)
        return None


def _prepare(modules: str, pipe: str) -> None:
    """Import modules, in the process that is forked from."""
    try:
        # without waiting: who would write may have been killed, and reading then ends at once
        more = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return  # who would write has ended and cleared up
    os.set_blocking(more, True)
    keeper = _Keeper()
    sys.meta_path.insert(0, keeper)
    os.register_at_fork(after_in_child=lambda: sys.meta_path.remove(keeper))
    gc.disable()
    _import(modules.split())
    with os.fdopen(more) as told:
        _import(told.readline().split())
    gc.freeze()  # so that the workers' collections leave these pages to be shared
    atexit.register(gc.unfreeze)  # libraries complain of what is there when the process ends
    gc.enable()


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        # what is wrong with a module is told by the worker that cannot do without it
        with contextlib.suppress(Exception):
            importlib.import_module(name)


if _PIPE in os.environ:
    _prepare(os.environ.pop(_MODULES), os.environ.pop(_PIPE))
