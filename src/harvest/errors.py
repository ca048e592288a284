"""Errors that a person reads: what was found, where, and what to do.

Every :class:`HarvestError` carries the exit code that the command line ends with; anything else
that escapes is a defect of the program or of a plugin.
"""

from __future__ import annotations

import difflib
import enum
import errno
import re
import resource
import traceback
from collections.abc import Collection, Iterable
from functools import partial

__all__ = [
    "ConfigError", "DatasetChanged", "DatasetError", "ExitCode", "HarvestError", "PluginError",
    "SourceError", "TooManyRejects", "UnknownTypeError", "UsageError", "WorkerLost",
    "out_of_files", "suggestion",
]  # fmt: skip


class ExitCode(enum.IntEnum):
    """How a run ended, as the process's exit status."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REJECTS = 3
    TOO_MANY_REJECTS = 4
    EXPORT = 5
    INTERRUPTED = 130


class HarvestError(Exception):
    """Something that stops the work, reported to a person.

    message: what was found.
    where: file, record or setting it was found in.
    remedy: what to do about it.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}; {self.remedy}" if self.remedy else text

    def __reduce__(self) -> tuple[object, ...]:
        return (partial(type(self), where=self.where, remedy=self.remedy), (self.message,))


_NAMED = re.compile(r"\b([A-Z]\w*): ")


def error_within(error: Exception) -> HarvestError | None:
    """The HarvestError whose text another library's error repeats; None where it does not.

    Rows are read while a query runs.  What stops the reading passes through polars and DuckDB,
    which some of their versions report as an error of their own, with this one's name and text.
    """
    text = str(error)
    known = _subclasses(HarvestError)
    for found in _NAMED.finditer(text):
        if found[1] in known:
            return known[found[1]](text[found.end() :].strip())
    return None


def _subclasses(cls: type[HarvestError]) -> dict[str, type[HarvestError]]:
    found = {cls.__name__: cls}
    for below in cls.__subclasses__():
        found |= _subclasses(below)
    return found


class UsageError(HarvestError):
    """The command line or a call asks for something that does not exist."""

    exit_code = ExitCode.USAGE


class UnknownTypeError(UsageError, KeyError):
    """No installed plugin declares a record type."""


class ConfigError(UsageError):
    """A recipe or a setting is wrong."""


class SourceError(HarvestError):
    """An input cannot be read at all."""


class DatasetError(HarvestError):
    """A dataset is missing, damaged or in use."""


class DatasetChanged(DatasetError):
    """The state that a dataset was opened in is not in force any more, and its files are gone."""


class PluginError(HarvestError):
    """A plugin cannot be loaded or breaks its contract."""


class SourceRejected(HarvestError):
    """A reject met while ``--on-error fail`` is in force."""


class WorkerLost(HarvestError):
    """A worker process ended while it had work in hand."""


class TooManyRejects(HarvestError):
    """A run met more rejects than it may accept."""

    exit_code = ExitCode.TOO_MANY_REJECTS


def raised_in(error: BaseException, homes: Collection[str]) -> tuple[str, str] | None:
    """The innermost line of an error's traceback in some code: whose it is, and ``FILE:LINE``.

    homes: names of top-level packages, or paths of Python files.  None where no line is in them.
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        for home in {package, file}.intersection(homes):
            found = home, f"{file}:{line}"
    return found


_OS_ERROR = re.compile(r"\(os error (\d+)\)")
"""The number as polars writes it, which sets no errno."""


def _number(error: OSError) -> int | None:
    found = None if error.errno is not None else _OS_ERROR.search(str(error))
    return int(found[1]) if found else error.errno


def out_of_files(error: BaseException | None) -> bool:
    """Whether the system could open no more files, which is not the fault of the one it refused."""
    return isinstance(error, OSError) and _number(error) in (errno.EMFILE, errno.ENFILE)


def system_reason(error: OSError) -> str:
    """What the system refused; where files ran out, how many may be open, and what to do."""
    if _number(error) == errno.ENFILE:
        return (
            "too many open files in all programs of this computer together; end some, or ask its "
            "administrator to raise fs.file-max"
        )
    if _number(error) != errno.EMFILE:
        return error.strerror or str(error)
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    more = max(4 * now, 4096) if most == resource.RLIM_INFINITY else min(max(4 * now, 4096), most)
    remedy = f"raise that before by `ulimit -n {more}`"
    if now == most:
        remedy = "only an administrator can raise the limit: `ulimit -Hn` shows it"
    return f"too many open files: this process may have {now} open at a time; {remedy}"


_LIBRARIES = ("pyo3_runtime", "polars", "pyarrow", "_duckdb", "duckdb")
_FILES = re.compile("TooManyOpenFiles|Too many open files")
_MEMORY = re.compile("memory allocation of|Cannot allocate memory|OutOfMemory|map segment")
_THREADS = re.compile("start new thread|spawn thread|temporarily unavailable|WouldBlock")
_HALF_LOADED = re.compile(r"^name 'Py\w+' is not defined")


def lack_of(error: BaseException) -> Exception | None:
    """What the system refused, where a library says it in words alone; None for other errors.

    Libraries panic, or raise what looks like a defect of who called them, where the process may
    open no more files, start no more threads or have no more memory.
    """
    home = type(error).__module__.partition(".")[0]
    if home not in _LIBRARIES and not isinstance(error, RuntimeError | ImportError | NameError):
        return None
    text = str(error)
    if _FILES.search(text):
        return OSError(errno.EMFILE, "too many open files")
    if _MEMORY.search(text):
        return MemoryError()
    if _THREADS.search(text):
        return HarvestError(
            "this process cannot start more threads",
            remedy="`ulimit -u` shows the limit; fewer --workers or POLARS_MAX_THREADS=1 need less",
        )
    if _HALF_LOADED.search(text):
        return HarvestError(
            "polars cannot load its library",
            remedy="there is too little memory, or the installation is incomplete: try "
            "`python -c 'import polars'`",
        )
    return None


NAMES_SHOWN = 15


def suggestion(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown name: the nearest known ones, or the first of all."""
    names = sorted(known)
    if near := difflib.get_close_matches(name, names, n=3, cutoff=0.6):
        return "did you mean " + " or ".join(map(repr, near)) + "?"
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    shown = ", ".join(names[:NAMES_SHOWN])
    return f"known: {shown}{more}" if names else "no plugin offers any; install one"
