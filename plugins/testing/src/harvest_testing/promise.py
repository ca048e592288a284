"""Promises that a plugin must keep, with errors that say what to do if one is broken.

A test of the kit is a method marked with :func:`promise`. It needs no pytest: a broken promise is
an AssertionError, and one that does not apply is unittest's SkipTest. pytest understands both.
"""

import contextlib
import functools
import unittest
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

from harvest import ConfigError

F = TypeVar("F", bound=Callable[..., Any])


class Conformance:
    """Base of the kit's classes, whose test methods are promises."""

    settings: ClassVar[Mapping[str, Any]] = {}

    def choices(self) -> dict[str, list[str]]:
        """Return parameter -> values: a promise with that parameter has one test for each value."""
        return {}

    def made(self, kind: str, location: Path | str, **more: Any) -> Any:
        """Make an instance of the class under test for a location, configured as in a run.

        kind: ``source`` or ``sink``, the attribute that holds the class. more: further settings.
        """
        cls = getattr(self, kind, None)
        if cls is None:
            raise BrokenPromise(f"{type(self).__name__} has no {kind}", f"set {kind} in the class")
        try:
            return cls.configured(location, **{**self.settings, **more})
        except ConfigError as error:
            raise BrokenPromise(str(error), "mend `settings` of the test class") from error

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make one test in pytest for each value of ``choices``."""
        for parameter, values in self.choices().items():
            if parameter in metafunc.fixturenames:
                metafunc.parametrize(parameter, values)


class BrokenPromise(AssertionError):
    """Raised when a plugin does not keep a promise.

    promise: the promise in words. seen: what happened instead. remedy: what the author can do.
    """

    def __init__(self, seen: str, remedy: str, promise: str = ""):
        super().__init__(seen, remedy, promise)
        self.seen = seen
        self.remedy = remedy
        self.promise = promise

    def __str__(self) -> str:
        seen = self.seen.replace("\n", "\n         ")
        return f"promise: {self.promise}\nseen:    {seen}\nremedy:  {self.remedy}"


def promise(text: str, *, quick: bool = False) -> Callable[[F], F]:
    """Mark a method of the kit as the test of a promise.

    quick: the test starts no process and takes little time, so ``harvest plugins check`` runs it.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def tested(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            try:
                return function(*args, **kwargs)
            except BrokenPromise as error:
                error.promise = text
                raise

        tested.promise = text  # type: ignore[attr-defined]
        tested.quick = quick  # type: ignore[attr-defined]
        return tested  # type: ignore[return-value]

    return decorate


def require(holds: object, seen: str, remedy: str) -> None:
    """Raise BrokenPromise unless a condition holds."""
    __tracebackhide__ = True
    if not holds:
        raise BrokenPromise(seen, remedy)


@contextlib.contextmanager
def raises_nothing(doing: str, remedy: str) -> Iterator[None]:
    """Raise BrokenPromise if the block raises anything, since a plugin may raise any exception.

    doing: begins the message, for example ``plan() raised ``.
    """
    __tracebackhide__ = True
    try:
        yield
    except (BrokenPromise, unittest.SkipTest):
        raise
    except Exception as error:
        raise BrokenPromise(f"{doing}{type(error).__name__}: {error}", remedy) from error


def does_not_apply(reason: str) -> NoReturn:
    """Skip a test that does not apply here; raises SkipTest."""
    __tracebackhide__ = True
    raise unittest.SkipTest(reason)
