"""Promises: what a plugin is held to, said so that its author knows what to do when one is broken.

A test of the kit is a method marked with :func:`promise`.  It needs no pytest: a broken promise is
an AssertionError, one that does not apply is unittest's SkipTest, and pytest knows both.
"""

from __future__ import annotations

import contextlib
import functools
import unittest
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

from harvest import ConfigError

F = TypeVar("F", bound=Callable[..., Any])


class Conformance:
    """Base of the kit's classes: promises as test methods."""

    settings: ClassVar[Mapping[str, Any]] = {}

    def choices(self) -> dict[str, list[str]]:
        """Values of a parameter that give a promise several tests."""
        return {}

    def made(self, kind: str, location: Path | str, **more: Any) -> Any:
        """The class under test for a location, configured as a run would.

        kind: ``source`` or ``sink``, the attribute that names the class.
        """
        cls = getattr(self, kind, None)
        if cls is None:
            broken(f"{type(self).__name__} has no {kind}", f"set {kind} in the class")
        try:
            return cls.configured(location, **{**self.settings, **more})
        except ConfigError as error:
            raise BrokenPromise(str(error), "mend `settings` of the test class") from error

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Give pytest one test for each of them."""
        for parameter, values in self.choices().items():
            if parameter in metafunc.fixturenames:
                metafunc.parametrize(parameter, values)


class BrokenPromise(AssertionError):
    """A plugin does not do what plugins promise.

    promise: in words; seen: what happened instead; remedy: what its author can do.
    """

    def __init__(self, seen: str, remedy: str, promise: str = ""):
        super().__init__(seen, remedy, promise)
        self.seen = seen
        self.remedy = remedy
        self.promise = promise

    def __str__(self) -> str:
        return f"promise: {self.promise}\nseen:    {_indent(self.seen)}\nremedy:  {self.remedy}"


def _indent(text: str) -> str:
    return text.replace("\n", "\n         ")


def promise(text: str, *, quick: bool = False) -> Callable[[F], F]:
    """Mark a method of the kit as the test of a promise.

    quick: it starts no process and takes a moment, so ``harvest plugins check`` runs it too.
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


def broken(seen: str, remedy: str) -> NoReturn:
    """End a test: its promise is broken."""
    __tracebackhide__ = True
    raise BrokenPromise(seen, remedy)


def require(holds: object, seen: str, remedy: str) -> None:
    """End a test unless something holds."""
    __tracebackhide__ = True
    if not holds:
        raise BrokenPromise(seen, remedy)


@contextlib.contextmanager
def raises_nothing(
    doing: str, remedy: str, *, but: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """End a test where something is raised in this block: a plugin may raise anything.

    doing: begins the words for it, as ``plan() raised ``; but: errors that are passed on.
    """
    __tracebackhide__ = True
    passed: tuple[type[Exception], ...] = (BrokenPromise, unittest.SkipTest, *but)
    try:
        yield
    except passed:
        raise
    except Exception as error:
        raise BrokenPromise(f"{doing}{type(error).__name__}: {error}", remedy) from error


def does_not_apply(reason: str) -> NoReturn:
    """End a test that has nothing to test here."""
    __tracebackhide__ = True
    raise unittest.SkipTest(reason)
