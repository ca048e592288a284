"""What a job asks of the cluster, checked before Slurm sees it.

Values end in ``#SBATCH`` lines, so each may hold only the characters that its kind needs; the
environment set-up alone is shell text, the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import attrs

from harvest import ConfigError

__all__ = ["Options"]

_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9_.@+:,-]*"
_TIME: Final = r"\d+(:[0-5]?\d){0,2}|\d+-\d{1,2}(:[0-5]?\d){0,2}"
_MEMORY: Final = r"[1-9]\d*[KMGTkmgt]?"
_EXTRA: Final = r"--[a-z][a-z-]*(=[A-Za-z0-9_.@+:,/*&|()\[\]=-]+)?"
_OWN: Final = re.compile(
    r"--(array|chdir|dependency|error|input|job-name|open-mode|output|parsable|wait|wrap)(=.*)?"
)


def _matches(pattern: str, remedy: str) -> Any:
    """A validator for text, or each of several texts, of one form."""
    form = re.compile(pattern)

    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        for text in value if isinstance(value, tuple) else (value,):
            if text is not None and not (isinstance(text, str) and form.fullmatch(text)):
                raise ConfigError(
                    f"{text!r} does not fit", where=f"batch option {attribute.name!r}",
                    remedy=remedy,
                )  # fmt: skip

    return check


def _positive(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ConfigError(
            f"{value!r} does not fit",
            where=f"batch option {attribute.name!r}",
            remedy="give a whole number of at least 1",
        )


def _words(value: Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _is_free(instance: Any, attribute: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
    _matches(_EXTRA, "write sbatch options as --name=value, without blanks or quotes")(
        instance, attribute, value
    )
    for text in value:
        if _OWN.fullmatch(text):
            raise ConfigError(
                f"{text.partition('=')[0]} is set by harvest itself",
                where=f"batch option {attribute.name!r}",
                remedy="leave it out",
            )


def _is_text(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, str) or "\0" in value or "\r" in value:
        raise ConfigError(
            f"{value!r} does not fit",
            where=f"batch option {attribute.name!r}",
            remedy="give lines of shell text",
        )


@attrs.frozen(kw_only=True)
class Options:
    """What a job asks of the cluster; what is left out is the cluster's default.

    Raises ConfigError (a UsageError) for a value that does not fit.
    """

    partition: str | None = attrs.field(
        default=None,
        validator=_matches(_NAME, "give the partition's name, or several with commas"),
        metadata={"doc": "Partition (queue) of the jobs."},
    )
    account: str | None = attrs.field(
        default=None,
        validator=_matches(_NAME, "give the account's name"),
        metadata={"doc": "Account that the jobs are charged to."},
    )
    time: str | None = attrs.field(
        default=None,
        validator=_matches(_TIME, "write minutes, HH:MM:SS or D-HH:MM:SS"),
        metadata={"doc": "Time limit of each job: minutes, HH:MM:SS or D-HH:MM:SS."},
    )
    memory: str | None = attrs.field(
        default=None,
        validator=_matches(_MEMORY, "write a number with K, M, G or T, such as 4G"),
        metadata={"doc": "Memory of each job, such as 4G; a bare number counts MB."},
    )
    cpus: int | None = attrs.field(
        default=None, validator=_positive, metadata={"doc": "CPUs of each job."}
    )
    env_setup: str = attrs.field(
        default="",
        validator=_is_text,
        metadata={
            "doc": "Shell lines run first in each job, such as `module load python`. "
            "Begin with `set -e` to stop at the first that fails."
        },
    )
    extra: tuple[str, ...] = attrs.field(
        default=(),
        converter=_words,
        validator=_is_free,
        metadata={"doc": "Further sbatch options, such as --qos=debug."},
    )

    def directives(self) -> list[str]:
        """The options as sbatch spells them."""
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
