"""The datasets that are served, each opened at one commit until the next."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from urllib.parse import quote, urlencode

import attrs
import polars as pl
from polars.exceptions import PolarsError
from starlette.requests import Request

import harvest
from harvest import DatasetChanged, DatasetError, HarvestError, UsageError
from harvest.errors import suggestion

from .engine.scratch import Scratch
from .problems import Damaged, NotFound, Refused
from .settings import Given, GivenDataset, check_settings, settings_key

KEPT: Final = 64
"""Answers that are cached for a snapshot: findings, reports, counts, facets."""

NAMED: Final = 20
"""Problems of a damaged dataset that are listed."""

LOOK_S: Final = 30.0
"""Seconds for which the result of a check for damage is kept."""

ATTEMPTS: Final = 20
"""How often a question is asked again because of a commit meanwhile."""

Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


@attrs.define(eq=False)
class Place:
    """A dataset as addresses name it.

    location: absolute path; label: its name on pages.
    """

    name: str
    location: Path
    label: str

    def to(self, *places: str, **query: Any) -> str:
        """Return the address of one of its pages; query: parameters, of which None is left out."""
        path = "/".join(quote(place, safe="") for place in places)
        given = urlencode({key: value for key, value in query.items() if value is not None})
        return f"/d/{quote(self.name)}/{path}{'?' if given else ''}{given}"

    def rows(self, table: str, pairs: Iterable[tuple[str, str]]) -> str:
        """Return the address of a table's page with these parameters."""
        asked = urlencode(list(pairs))
        return f"{self.to('table', table)}{'?' if asked else ''}{asked}"


@attrs.define(eq=False)
class Snapshot(Place):
    """A dataset at one commit, with the settings that the server was started with.

    scratch: where rows of views are written while questions read them.
    """

    dataset: GivenDataset
    scratch: Scratch
    _kept: OrderedDict[Hashable, _Once] = attrs.field(factory=OrderedDict)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    @property
    def commit(self) -> str:
        """The token of its commit."""
        return str(self.dataset.manifest.token)

    def is_in_force(self) -> bool:
        """Return whether the dataset is still there, without a later commit."""
        state = self.dataset.sink.state
        return (state / "manifest.json").exists() and self.dataset.is_current()

    def keep(self, key: Hashable, make: Callable[[], Answer]) -> Answer:
        """Return ``make()``, computed once for a key; the least recently used keys are dropped."""
        with self._lock:
            once = self._kept.setdefault(key, _Once())
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        answer: Answer = once.get(make)
        return answer

    def summary(self) -> dict[str, Any]:
        """Return what it holds, as ``harvest show`` does."""
        return self.keep("summary", self.dataset.summary)

    def view(self, name: str, settings: Mapping[str, Any]) -> pl.LazyFrame:
        """Return a view with a request's settings; raises UsageError for one that may be a file."""
        check_settings(self.dataset.plugins.views[name], settings)
        return self.dataset.view(name, **settings)

    def report(self, name: str, settings: Mapping[str, Any]) -> Any:
        """Return a report with settings of a request; raises UsageError as ``view``."""
        check_settings(self.dataset.plugins.reports[name], settings)
        return self.dataset.report(name, **settings)

    def given_in_words(self, name: str) -> str:
        """Describe the server's settings for a view or report; files by name."""
        plugins = self.dataset.plugins
        spec = plugins.views.get(name) or plugins.reports.get(name)
        return "" if spec is None else self.dataset.given.in_words(spec)


def kept(
    make: Callable[Concatenate[Snapshot, Arguments], Answer],
) -> Callable[Concatenate[Snapshot, Arguments], Answer]:
    """Cache a function of a snapshot for its arguments; see ``Snapshot.keep``."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(snapshot: Snapshot, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        bound = signature.bind(snapshot, *args, **kwargs)
        bound.apply_defaults()
        others = list(bound.arguments.values())[1:]
        key = [settings_key(each) if isinstance(each, Mapping | None) else each for each in others]
        return snapshot.keep((make, *key), lambda: make(snapshot, *args, **kwargs))

    return made


class _Once:
    """A value that is computed on first use; concurrent callers wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: list[Any] = []

    def get(self, make: Callable[[], Any]) -> Any:
        with self._lock:
            if not self._value:
                self._value.append(make())
            return self._value[0]


@attrs.define(eq=False)
class Served(Place):
    """One dataset of the command line."""

    _scratch: Scratch
    _given: Given
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _opened: Snapshot | None = None
    _looking: threading.Lock = attrs.field(factory=threading.Lock)
    _looked: tuple[Snapshot | None, float, Damaged | None] = (None, 0.0, None)

    def current(self) -> Snapshot:
        """Return the current snapshot; the dataset is reopened only where its commit changed.

        Raises Damaged, with what ``harvest verify`` says, or DatasetError where no dataset is
        there.
        """
        with self._lock:
            try:
                if self._opened is None or not self._opened.is_in_force():
                    dataset = GivenDataset.of(harvest.open(self.location), self._given)
                    place = (self.name, self.location, self.label)
                    self._opened = Snapshot(*place, dataset, self._scratch)
                return self._opened
            except UsageError:
                raise
            except DatasetError as error:
                # without a manifest, `harvest verify` can say only this, too
                raise Damaged(
                    error.message,
                    where=error.where or str(self.location),
                    problems=[str(error)],
                    remedy=error.remedy or f"harvest verify {self.location}",
                ) from error

    def ask(self, ask: Callable[[Snapshot], Answer]) -> Answer:
        """Return ``ask(snapshot)`` for the current snapshot, or for the next one.

        Asks again where a commit removed files during the question. Raises DatasetChanged after
        ATTEMPTS, and Damaged, with what ``harvest verify`` says, for an unreadable dataset.
        """
        for _ in range(ATTEMPTS):
            with contextlib.suppress(DatasetChanged):
                return self._ask(ask)
        return self._ask(ask)

    def _ask(self, ask: Callable[[Snapshot], Answer]) -> Answer:
        snapshot = self.current()
        try:
            return ask(snapshot)
        except (UsageError, DatasetChanged, Damaged, Refused):
            raise
        except (HarvestError, OSError, PolarsError) as error:
            if not snapshot.dataset.is_current():
                raise DatasetChanged(
                    "another commit is in force", where=str(self.location), remedy="ask again"
                ) from error
            damage = self._look_for_damage(snapshot)
            if damage is None:
                raise
            raise damage from error

    def _look_for_damage(self, snapshot: Snapshot) -> Damaged | None:
        """Return what ``harvest verify`` says, at most once in LOOK_S, because it reads all."""
        with self._looking:
            looked, until, damage = self._looked
            if looked is snapshot and time.monotonic() < until:
                return damage
            texts = snapshot.dataset.verify()
            more = [f"and {len(texts) - NAMED} more"] if len(texts) > NAMED else []
            damage = Damaged(
                "the dataset is damaged",
                where=str(self.location),
                problems=[*texts[:NAMED], *more],
                remedy=f"harvest verify {self.location} --repair",
            )
            self._looked = snapshot, time.monotonic() + LOOK_S, damage if texts else None
            return self._looked[2]


_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")


def serve(datasets: Iterable[tuple[Path, Given]], scratch: Scratch) -> dict[str, Served]:
    """Return datasets with their settings by address name, which is the file or directory name.

    Datasets of the same name have their path as label. Raises the first error where none opens.
    """
    places = [(each.expanduser().absolute(), given) for each, given in datasets]
    names = Counter(location.name for location, _ in places)
    found: dict[str, Served] = {}
    for location, given in places:
        word = _PLAIN.sub("-", location.name).strip(".-") or "dataset"
        name, number = word, 1
        while name in found:
            number += 1
            name = f"{word}-{number}"
        label = str(location) if names[location.name] > 1 else name
        found[name] = Served(name, location, label, scratch, given)
    errors = []
    for each in found.values():
        try:
            each.current()
        except HarvestError as error:
            errors.append(error)
    if len(errors) == len(found):
        raise errors[0]
    return found


def find_served(request: Request) -> Served:
    """Return the dataset that a request's address names; raises NotFound for an unknown name."""
    known: dict[str, Served] = request.app.state.served
    wanted = request.path_params["dataset"]
    if wanted not in known:
        raise NotFound(f"no dataset is served as {wanted!r}", remedy=suggestion(str(wanted), known))
    return known[wanted]
