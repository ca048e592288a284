"""Errors for people: what was found, where, and what to do.

Every :class:`HarvestError` has the exit code of the command line. Any other exception that reaches
the top is a defect of the program or of a plugin.
"""

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
    """An error that stops the work, with a message for people.

    message: what was found.
    where: file, record or setting in which it was found.
    remedy: what to do about it.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    @property
    def reason(self) -> str:
        """What was found, and what to do about it."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" if self.where else self.reason

    def __reduce__(self) -> tuple[object, ...]:
        return (partial(type(self), where=self.where, remedy=self.remedy), (self.message,))


_NAMED = re.compile(r"\b([A-Z]\w*): ")


def error_within(error: Exception) -> HarvestError | None:
    """Return the HarvestError whose text another library's error contains, or None.

    Rows are read while a query runs. An error of reading passes through polars and DuckDB. Some of
    their versions convert it to their own error, with the name and text of the original.
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
    """The state in which a dataset was opened was replaced, and its files are gone."""


class PluginError(HarvestError):
    """A plugin cannot be loaded or breaks its contract."""


class SourceRejected(HarvestError):
    """A unit was rejected under ``--on-error fail``."""


class WorkerLost(HarvestError):
    """A worker process ended before its work was done."""


class TooManyRejects(HarvestError):
    """A run has more rejects than allowed."""

    exit_code = ExitCode.TOO_MANY_REJECTS


def raised_in(error: BaseException, homes: Collection[str]) -> tuple[str, str] | None:
    """Return the innermost traceback line in some code: its home, and ``FILE:LINE``; or None.

    homes: names of top-level packages, or paths of Python files.
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        for home in {package, file}.intersection(homes):
            found = home, f"{file}:{line}"
    return found


_OS_ERROR = re.compile(r"\(os error (\d+)\)")
"""The error number in a message of polars, which does not set errno."""


def _number(error: OSError) -> int | None:
    found = None if error.errno is not None else _OS_ERROR.search(str(error))
    return int(found[1]) if found else error.errno


def out_of_files(error: BaseException | None) -> bool:
    """Return whether too many files are open, which is not the fault of the refused file."""
    return isinstance(error, OSError) and _number(error) in (errno.EMFILE, errno.ENFILE)


def system_reason(error: OSError) -> str:
    """Describe a refusal of the system; for too many open files, with limit and remedy."""
    if _number(error) == errno.ENFILE:
        return (
            "too many open files in all programs of this computer together; end some, or ask its "
            "administrator to raise fs.file-max"
        )
    if _number(error) != errno.EMFILE:
        return error.strerror or " ".join(map(str, error.args))
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
    """Return the lack of a resource that a library reports only in words; None for other errors.

    Libraries panic, or report an apparent defect of their caller, when the process lacks open
    files, threads or memory.
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
        remedy = "`ulimit -u` shows the limit; fewer --workers or POLARS_MAX_THREADS=1 need less"
        return HarvestError("this process cannot start more threads", remedy=remedy)
    if _HALF_LOADED.search(text):
        return HarvestError(
            "polars cannot load its library",
            remedy="there is too little memory, or the installation is incomplete: try "
            "`python -c 'import polars'`",
        )
    return None


NAMES_SHOWN = 15


def suggestion(name: str, known: Iterable[str]) -> str:
    """Suggest what to do about an unknown name: the nearest known names, or the first ones."""
    names = sorted({*known})
    if near := difflib.get_close_matches(name, names, n=3, cutoff=0.6):
        best = difflib.SequenceMatcher(None, near[0], name).ratio()
        near = difflib.get_close_matches(name, near, cutoff=0.9 * best)
        return "did you mean " + " or ".join(map(repr, near)) + "?"
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    shown = ", ".join(names[:NAMES_SHOWN])
    return f"known: {shown}{more}" if names else "no plugin offers any; install one"
