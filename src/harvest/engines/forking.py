"""The process that the local engine's workers are forked from.

It imports what the workers need, once for all of them, and must run no thread: a fork copies the
thread that forks alone, and whatever lock another one holds stays taken for ever.  So the
libraries that would start threads are kept from it or told not to; a module that needs one of the
former is imported by each worker itself.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from multiprocessing import forkserver, resource_tracker
from types import ModuleType
from typing import Any, Final

__all__ = ["fork_context"]

_THREADED: Final = frozenset(("polars",))

_QUIET: Final = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # of pyarrow's memory pool
    "OPENBLAS_NUM_THREADS": "1",  # of numpy
}

_MODULES: Final = "HARVEST_FORK_MODULES"
"""Environment variable that tells the process what to import."""


def fork_context(modules: Sequence[str]) -> Any:
    """A context of multiprocessing whose processes have these modules imported.

    The process they are forked from is started at the first call and lives as long as this one;
    what later calls name is imported by each worker.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    resource_tracker.ensure_running()
    wanted = {**_QUIET, _MODULES: " ".join(dict.fromkeys(modules))}
    with _environment(wanted), _blocked(signal.SIGINT):
        forkserver.ensure_running()
    return context


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


def _prepare(modules: Sequence[str]) -> None:
    """Import modules, in the process that is forked from."""
    keeper = _Keeper()
    sys.meta_path.insert(0, keeper)
    os.register_at_fork(after_in_child=lambda: sys.meta_path.remove(keeper))
    for name in modules:
        # what is wrong with a module is told by the worker that cannot do without it
        with contextlib.suppress(Exception):
            importlib.import_module(name)


if _MODULES in os.environ:
    _prepare(os.environ.pop(_MODULES).split())
