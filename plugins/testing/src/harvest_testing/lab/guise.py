"""Another day, machine, user and process, as far as what a plugin asks for them goes."""

from __future__ import annotations

import contextlib
import datetime
import getpass
import os
import platform
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

LATER_S = 400 * 86_400 + 12_345
"""How much later it is: another year, month, day, hour and minute."""

HOST, USER = "harvest-kit-host", "harvest-kit-user"


class _AnyDatetime(type):
    """Of a class that is taken for another, which its instances are of."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])


class _Datetime(datetime.datetime, metaclass=_AnyDatetime):
    """datetime.datetime, by a clock that is fast; it makes plain ones."""

    def __new__(cls, *values: Any, **more: Any) -> Any:
        return _DATETIME(*values, **more)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _DATETIME.now(tz) + datetime.timedelta(seconds=LATER_S)

    @classmethod
    def utcnow(cls) -> Any:
        return _DATETIME.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(
            seconds=LATER_S
        )

    @classmethod
    def today(cls) -> Any:
        return cls.now()


class _Date(datetime.date, metaclass=_AnyDatetime):
    """datetime.date, by a clock that is fast."""

    def __new__(cls, *values: Any, **more: Any) -> Any:
        return _DATE(*values, **more)

    @classmethod
    def today(cls) -> Any:
        return _DATE.today() + datetime.timedelta(seconds=LATER_S)


_DATETIME, _DATE = datetime.datetime, datetime.date


def _later(function: Callable[..., Any]) -> Callable[..., Any]:
    """``time.gmtime`` and its like: without seconds, those of a clock that is fast."""
    now = time.time
    return lambda seconds=None: function(now() + LATER_S if seconds is None else seconds)


@contextlib.contextmanager
def in_another_guise(package: str) -> Iterator[None]:
    """Let the modules of a package see another time, host, user, process and number of CPUs."""
    now, now_ns, uname = time.time, time.time_ns, os.uname()
    there = {
        "time": lambda: now() + LATER_S,
        "time_ns": lambda: now_ns() + LATER_S * 10**9,
        "gmtime": _later(time.gmtime),
        "localtime": _later(time.localtime),
    }
    host = os.uname_result((uname[0], HOST, *uname[2:]))
    changes: list[tuple[Any, str, Any]] = [
        *((time, name, value) for name, value in there.items()),
        (datetime, "datetime", _Datetime),
        (datetime, "date", _Date),
        (socket, "gethostname", lambda: HOST),
        (socket, "getfqdn", lambda *_: HOST),
        (platform, "node", lambda: HOST),
        (os, "uname", lambda: host),
        (os, "getpid", lambda: 4_711_815),
        (os, "cpu_count", lambda: 3),
        (os, "sched_getaffinity", lambda _: {0, 1, 2}),
        (os, "getlogin", lambda: USER),
        (getpass, "getuser", lambda: USER),
        (uuid, "getnode", lambda: 4711),
    ]
    replaced = {id(getattr(home, name)): value for home, name, value in changes}
    environment = {"HOSTNAME": HOST, "USER": USER, "LOGNAME": USER}
    with contextlib.ExitStack() as stack:
        imported = [
            (module, name, replaced[id(value)])
            for module in _modules(package)
            for name, value in list(vars(module).items())
            if id(value) in replaced
        ]
        for home, name, value in [*changes, *imported]:
            stack.enter_context(mock.patch.object(home, name, value))
        stack.enter_context(mock.patch.dict(os.environ, environment))
        yield


def _modules(package: str) -> list[ModuleType]:
    """The imported modules of a package."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name == package or name.startswith(f"{package}.")
    ]
