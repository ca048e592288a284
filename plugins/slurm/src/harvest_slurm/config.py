"""The settings of the source ``slurm``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import attrs

__all__ = ["SlurmConfig"]


def _setting(doc: str, default: Any = None, check: Callable[[Any], None] | None = None) -> Any:
    def validate(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if check is not None and value is not None:
            check(value)

    return attrs.field(default=default, validator=validate, metadata={"doc": doc})


def _zone(value: str) -> None:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{value!r} is no time zone; name one as Europe/Zurich or UTC") from None


def _exit_code(value: str) -> None:
    if not re.fullmatch(r"\d{1,9}(:\d{1,9})?", value):
        raise ValueError(f"{value!r} is no exit code; write CODE or CODE:SIGNAL, as 0:0")


def _positive(value: int) -> None:
    if value < 1:
        raise ValueError(f"{value} must be at least 1")


def _users(value: tuple[str, ...]) -> None:
    for user in value:
        if not re.fullmatch(r"[\w.@$+\\][\w.@$+\\-]*", user):
            raise ValueError(f"{user!r} is no login")


def _states(value: tuple[str, ...]) -> None:
    from .scalars import STATES

    for state in value:
        if state.upper() not in STATES:
            raise ValueError(f"{state!r} is no job state; known are {', '.join(STATES).lower()}")


def _moment(value: str) -> None:
    from .window import moment

    moment(value, ZoneInfo("UTC"))


@attrs.frozen(kw_only=True)
class SlurmConfig:
    """Settings; the last five are for ``slurm:live``, where users and states filter files too."""

    timezone: str | None = _setting(
        "zone of times that carry none (Europe/Zurich); UTC unless given", check=_zone
    )
    columns: tuple[str, ...] = _setting(
        "fields of a dump without header (sacct --noheader), in their order", ()
    )
    delimiter: str | None = _setting(
        "text between fields (sacct --delimiter), of which nothing is quoted; found by itself "
        "where there is a header"
    )
    name_contains: str | None = _setting("only jobs whose name contains this")
    qos_contains: str | None = _setting("only jobs whose QOS contains this")
    req_nodes: int | None = _setting("only jobs that asked for this many nodes")
    exit_code: str | None = _setting(
        "only jobs that ended with this exit code: CODE or CODE:SIGNAL", check=_exit_code
    )
    started: bool | None = _setting("true: only jobs that have started; false: only others")
    users: tuple[str, ...] = _setting("only jobs of these users", (), check=_users)
    states: tuple[str, ...] = _setting("only jobs in these states", (), check=_states)
    since: str | None = _setting(
        "begin of the time window: 2024-01-31[T12:00:00], or 7d, 12h, 4w ago; today unless given",
        check=_moment,
    )
    until: str | None = _setting("end of the time window; now unless given", check=_moment)
    slice_days: int = _setting("days that one call of sacct covers", 7, check=_positive)
    sacct: str = _setting("program to run", "sacct")
