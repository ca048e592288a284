"""The names that plugins declare, and their owners if several plugins declare one.

A name belongs to the plugin that declares it. If several distributions declare it, it belongs to
the first that the user prefers, or else to the project's own. The order of discovery does not
matter. If neither rule decides, using the name is an error that lists all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from harvest.errors import PluginError, UsageError, raised_in, suggestion

from .known import bringing, canonical, is_ours

DISABLE_VARIABLE: Final = "HARVEST_DISABLE_PLUGINS"
"""Environment variable with names of plugins to leave out, separated by commas."""

PREFER_VARIABLE: Final = "HARVEST_PREFER"
"""Environment variable with preferred distributions for contested names, separated by commas."""

UNKNOWN: Final = "(unknown)"
"""Distribution and version of a plugin whose entry point has no distribution."""


@attrs.frozen
class Plugin:
    """A registered plugin.

    name: of its entry point; distribution and version: where it comes from. For a file, these are
    the file's name and a digest of its content, and ``installed`` is false.
    """

    name: str
    distribution: str
    version: str
    module: str
    installed: bool = True

    @property
    def versions(self) -> dict[str, str]:
        """Distribution and version, if other processes can have the plugin; else empty."""
        known = self.installed and self.version != UNKNOWN
        return {self.distribution: self.version} if known else {}


@attrs.frozen
class BrokenPlugin:
    """A plugin that could not be registered."""

    name: str
    distribution: str
    version: str
    cause: str
    remedy: str
    error: BaseException | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen(eq=False)
class Claim:
    """A plugin's declaration of a name."""

    plugin: Plugin
    spec: Any


@attrs.frozen(kw_only=True)
class Contested:
    """A name that several distributions declare, and its owner; None if undecided."""

    kind: str
    name: str
    distributions: tuple[str, ...]
    chosen: str | None
    because: str

    def remark(self) -> str:
        others = " and ".join(name for name in self.distributions if name != self.chosen)
        return (
            f"{self.kind} {self.name!r} is {self.chosen}'s; {others} declares it, too: "
            f"{self.choice()}"
        )

    def choice(self) -> str:
        qualified = " or ".join(f"{d}:{self.name}" for d in self.distributions)
        first = next(d for d in self.distributions if d != self.chosen)
        return f"write {qualified}, or set {PREFER_VARIABLE}={first}"

    def error(self) -> UsageError:
        return UsageError(
            f"{self.kind} {self.name!r} is declared by {' and '.join(self.distributions)}",
            remedy=self.choice(),
        )


class Claims:
    """All declarations of plugins, by kind (``sources``) and name."""

    def __init__(self, preferred: Sequence[str]):
        self.preferred = tuple(preferred)
        self._claims: dict[str, dict[str, list[Claim]]] = {}

    def add(self, kind: str, claim: Claim) -> None:
        self._claims.setdefault(kind, {}).setdefault(claim.spec.name, []).append(claim)

    def drop(self, plugin: Plugin) -> None:
        for names in self._claims.values():
            for name, claims in list(names.items()):
                names[name] = [claim for claim in claims if claim.plugin != plugin]
                if not names[name]:
                    del names[name]

    def of(self, kind: str, name: str) -> Sequence[Claim]:
        return self._claims.get(kind, {}).get(name, ())

    def names(self, kind: str) -> list[str]:
        """Return all declared names of a kind, including those without an owner."""
        return sorted(self._claims.get(kind, {}))

    def all(self, kind: str) -> Mapping[str, Any]:
        """Return the declaration of each name of a kind; leave out names without an owner."""
        names = self._claims.get(kind, {})
        chosen = {name: self._choose(names[name])[0] for name in sorted(names)}
        return {name: claim.spec for name, claim in chosen.items() if claim is not None}

    def contested(self) -> Iterator[Contested]:
        for kind, names in sorted(self._claims.items()):
            for name, claims in sorted(names.items()):
                if len(claims) > 1:
                    yield self.contest(kind, name)

    def contest(self, kind: str, name: str) -> Contested:
        claims = self.of(kind, name)
        chosen, because = self._choose(claims)
        return Contested(
            kind=kind.removesuffix("s"),
            name=name,
            distributions=tuple(sorted(claim.plugin.distribution for claim in claims)),
            chosen=None if chosen is None else chosen.plugin.distribution,
            because=because,
        )

    def _choose(self, claims: Sequence[Claim]) -> tuple[Claim | None, str]:
        if len(claims) == 1:
            return claims[0], ""
        by_distribution = {canonical(claim.plugin.distribution): claim for claim in claims}
        for distribution in map(canonical, self.preferred):
            if distribution in by_distribution:
                return by_distribution[distribution], PREFER_VARIABLE
        ours = [claim for name, claim in by_distribution.items() if is_ours(name)]
        return (ours[0], "the project's own") if len(ours) == 1 else (None, "")


class Lookup:
    """Registered plugins, and the names that they declare."""

    def __init__(self, claims: Claims):
        self.claims = claims
        self.plugins: dict[str, Plugin] = {}
        self.broken: dict[str, BrokenPlugin] = {}
        self.disabled: tuple[str, ...] = ()
        self.left_out: set[str] = set()
        self._owner: dict[int, Plugin] = {}
        self._remarked: set[str] = set()

    def owner(self, spec: Any) -> Plugin:
        return self._owner[id(spec)]

    def blame(self, error: BaseException) -> str:
        """Say whose defect an error is, which line of a plugin raised it, and what to do."""
        homes = {p.module.partition(".")[0] if p.installed else p.module: p for p in self}
        homes.pop("harvest", None)
        found = raised_in(error, homes)
        if found is None:
            return "this is a defect: run with --debug and report the traceback"
        plugin, line = homes[found[0]], found[1]
        return (
            f"in {line}, of plugin {plugin.name!r} ({plugin.distribution}): report this to its "
            "author (--debug shows the traceback)"
        )

    def find(self, kind: str, name: str) -> Any:
        """Return the declaration of a name; raise UsageError or PluginError if it cannot be used.

        name: may be qualified by its owner, as ``DISTRIBUTION:NAME`` or ``FILE.py:NAME``.
        """
        owner, _, plain = name.rpartition(":")
        if owner:
            return self.find_of(kind, owner, plain)
        claims = self.claims.of(f"{kind}s", name)
        if claims:
            if len(claims) > 1:
                self._remark(self.claims.contest(f"{kind}s", name))
            return self.claims.all(f"{kind}s")[name]
        if name in self.broken:
            problem = self.broken[name]
            raise PluginError(
                f"plugin {name!r} cannot be used: {problem.cause}", remedy=problem.remedy
            ) from problem.error
        if name in self.disabled:
            raise UsageError(
                f"{kind} {name!r} is disabled", remedy=f"change {DISABLE_VARIABLE} to use it"
            )
        raise UsageError(
            f"unknown {kind} {name!r}", remedy=self.remedy(name, self.claims.all(f"{kind}s"), kind)
        )

    def _remark(self, contested: Contested) -> None:
        """Print the owner of a contested name once; raise UsageError if it has none."""
        if contested.chosen is None:
            raise contested.error()
        text = contested.remark()
        if contested.because != PREFER_VARIABLE and text not in self._remarked:
            self._remarked.add(text)
            print(f"harvest: {text}", file=sys.stderr, flush=True)

    def remedy(self, name: str, known: Iterable[str], *kinds: str) -> str:
        """Say what to do about a name that no plugin declares.

        known: declared names; kinds: what the name may be, such as ``source``, ``record type``.
        """
        for kind in kinds:
            if len(self.claims.of(f"{kind}s", name)) > 1:
                return str(self.claims.contest(f"{kind}s", name).error())
            if missing := self.missing(kind, name):
                return self.how_to_have(missing) + self.unless_disabled()
        return suggestion(name, known)

    def missing(self, kind: str, name: str) -> str | None:
        """Return the project's distribution that brings a name, if it is not in use; else None."""
        in_use = {canonical(plugin.distribution) for plugin in self}
        return bringing(kind, name, in_use - self.left_out)

    def how_to_have(self, distribution: str) -> str:
        """Say how to get a plugin that is not in use: a distribution, a file or a class."""
        for plugin in self.broken.values():
            if canonical(plugin.distribution) == canonical(distribution):
                return f"{plugin.name}: {plugin.cause}; {plugin.remedy}"
        if distribution.endswith(".py"):
            python = f"harvest.add_plugin({distribution!r})"
            return f"name the file, as in harvest --plugin {distribution} or {python}"
        if distribution == "__main__":
            return "give the class to harvest.add_plugin"
        return f"install {distribution}"

    def unless_disabled(self) -> str:
        """Return a hint about disabled plugins; empty if there are none."""
        names = ",".join(self.disabled)
        return f", unless {DISABLE_VARIABLE}={names} leaves it out" if names else ""

    def find_of(self, kind: str, owner: str, name: str | None) -> Any:
        """Return a distribution's declaration of a name; raise UsageError if it has none."""
        offers = {
            each: claim.spec
            for each in self.claims.names(f"{kind}s")
            for claim in self.claims.of(f"{kind}s", each)
            if canonical(claim.plugin.distribution) == canonical(owner)
        }
        if name in offers:
            return offers[name]
        raise UsageError(
            f"the distribution {owner!r} offers no {kind} {name!r}",
            remedy=suggestion(name or "", offers) if offers else "`harvest plugins` lists them",
        )

    def is_distribution(self, name: str) -> bool:
        there = [plugin.distribution for plugin in self.plugins.values()]
        there += [plugin.distribution for plugin in self.broken.values()]
        return canonical(name) in map(canonical, there)

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self.plugins.values())
