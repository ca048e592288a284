"""Options that a job requests from the cluster, checked before Slurm sees them.

Values become ``#SBATCH`` lines, so each may have only the characters that its kind needs. Only the
environment set-up is shell text, written by the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from harvest import ConfigError

_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9_.@+:,-]*"
_TIME: Final = r"\d+(:[0-5]?\d){0,2}|\d+-\d{1,2}(:[0-5]?\d){0,2}"
_MEMORY: Final = r"[1-9]\d*[KMGTkmgt]?"
_EXTRA: Final = r"--[a-z][a-z-]*(=[A-Za-z0-9_.@+:,/*&|()\[\]=-]+)?"
_OWN: Final = re.compile(
    r"--(array|chdir|dependency|error|input|job-name|open-mode|output|parsable|wait|wrap)(=.*)?"
)


def _option(
    doc: str,
    fits: Callable[[Any], object],
    remedy: str,
    *,
    default: Any = None,
    converter: Any = None,
) -> Any:
    """Define a field; fits: checks a value, or each of several; remedy: advice for an error."""

    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        for each in value if converter is not None else (value,):
            if each is not None and not fits(each):
                where = f"batch option {attribute.name!r}"
                raise ConfigError(f"{each!r} does not fit", where=where, remedy=remedy)

    return attrs.field(default=default, converter=converter, validator=check, metadata={"doc": doc})


def _form(pattern: str) -> Callable[[Any], object]:
    """Return a function that checks whether a value is a text that matches the pattern."""
    form = re.compile(pattern)
    return lambda value: isinstance(value, str) and form.fullmatch(value)


def _is_free(value: Any) -> object:
    """Return whether a value is an sbatch option; raises ConfigError for a reserved option."""
    if isinstance(value, str) and _OWN.fullmatch(value):
        problem = f"{value.partition('=')[0]} is set by harvest itself"
        raise ConfigError(problem, where="batch option 'extra'", remedy="leave it out")
    return _form(_EXTRA)(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value and "\r" not in value


def words_of(value: Iterable[str]) -> tuple[str, ...]:
    """Convert one text or several to a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)


@attrs.frozen(kw_only=True)
class Options:
    """Options that a job requests from the cluster; omitted ones have the cluster's defaults.

    Raises ConfigError (a UsageError) for a value that does not fit.
    """

    partition: str | None = _option(
        "Partition (queue) of the jobs.",
        _form(_NAME),
        "give the partition's name, or several with commas",
    )
    account: str | None = _option(
        "Account that the jobs are charged to.", _form(_NAME), "give the account's name"
    )
    time: str | None = _option(
        "Time limit of each job: minutes, HH:MM:SS or D-HH:MM:SS.",
        _form(_TIME),
        "write minutes, HH:MM:SS or D-HH:MM:SS",
    )
    memory: str | None = _option(
        "Memory of each job, such as 4G; a bare number counts MB.",
        _form(_MEMORY),
        "write a number with K, M, G or T, such as 4G",
    )
    cpus: int | None = _option("CPUs of each job.", _is_count, "give a whole number of at least 1")
    env_setup: str = _option(
        "Shell lines run first in each job, such as `module load python`. "
        "Begin with `set -e` to stop at the first that fails.",
        _is_text,
        "give lines of shell text",
        default="",
    )
    extra: tuple[str, ...] = _option(
        "Further sbatch options, such as --qos=debug.",
        _is_free,
        "write sbatch options as --name=value, without blanks or quotes",
        default=(),
        converter=words_of,
    )

    def directives(self) -> list[str]:
        """Return the options in sbatch's spelling."""
        named = {
            "--partition": self.partition,
            "--account": self.account,
            "--time": self.time,
            "--mem": self.memory,
            "--cpus-per-task": self.cpus,
        }
        return [f"{name}={value}" for name, value in named.items() if value is not None] + [
            *self.extra
        ]
