"""What a name stands for among all that plugins declare."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from harvest.errors import PluginError, UsageError, raised_in, suggestion

from .claims import DISABLE_VARIABLE, PREFER_VARIABLE, BrokenPlugin, Claims, Contested, Plugin
from .known import bringing, canonical


class Lookup:
    """Plugins that are registered, and the names that they declare.

    plugins, broken: by name; disabled: names to leave out; left_out: distributions of which
    a plugin is left out.
    """

    def __init__(self, claims: Claims):
        self.claims = claims
        self.plugins: dict[str, Plugin] = {}
        self.broken: dict[str, BrokenPlugin] = {}
        self.disabled: tuple[str, ...] = ()
        self.left_out: set[str] = set()
        self._owner: dict[int, Plugin] = {}
        self._remarked: set[str] = set()

    def owner(self, spec: Any) -> Plugin:
        """The plugin that declared ``spec``."""
        return self._owner[id(spec)]

    def blame(self, error: BaseException) -> str:
        """Whose defect an error is, which line of a plugin's code it came from, and what to do."""
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
        """What is declared under a name; raises UsageError or PluginError.

        name: may say whose it is, as ``DISTRIBUTION:NAME`` or ``FILE.py:NAME``.
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
            f"unknown {kind} {name!r}",
            remedy=self.remedy(name, self.claims.all(f"{kind}s"), kind),
        )

    def _remark(self, contested: Contested) -> None:
        """Say once whose a name is; raises UsageError where it is nobody's."""
        if contested.chosen is None:
            raise contested.error()
        text = contested.remark()
        if contested.because != PREFER_VARIABLE and text not in self._remarked:
            self._remarked.add(text)
            print(f"harvest: {text}", file=sys.stderr, flush=True)

    def remedy(self, name: str, known: Iterable[str], *kinds: str) -> str:
        """What to do about a name that nothing declares.

        known: names that are declared; kinds: what it may be, such as ``source``, ``record type``.
        """
        for kind in kinds:
            if len(self.claims.of(f"{kind}s", name)) > 1:
                return str(self.claims.contest(f"{kind}s", name).error())
            if missing := self.missing(kind, name):
                return self.how_to_have(missing) + self.unless_disabled()
        return suggestion(name, known)

    def missing(self, kind: str, name: str) -> str | None:
        """The distribution of the project's that brings a name, where it is not in use."""
        in_use = {canonical(plugin.distribution) for plugin in self}
        return bringing(kind, name, in_use - self.left_out)

    def how_to_have(self, distribution: str) -> str:
        """What brings a plugin that is not in use; a file's is named by the file."""
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
        """A reminder of plugins that are left out; empty where none are."""
        names = ",".join(self.disabled)
        return f", unless {DISABLE_VARIABLE}={names} leaves it out" if names else ""

    def find_of(self, kind: str, owner: str, name: str | None) -> Any:
        """What a distribution declares under a name; raises UsageError where it does not."""
        for claim in self.claims.of(f"{kind}s", name or ""):
            if canonical(claim.plugin.distribution) == canonical(owner):
                return claim.spec
        offers = [
            each
            for each in self.claims.names(f"{kind}s")
            for claim in self.claims.of(f"{kind}s", each)
            if canonical(claim.plugin.distribution) == canonical(owner)
        ]
        raise UsageError(
            f"the distribution {owner!r} offers no {kind} {name!r}",
            remedy=suggestion(name or "", offers) if offers else "`harvest plugins` lists them",
        )

    def is_distribution(self, name: str) -> bool:
        """Whether some plugin comes from a distribution of this name."""
        there = [plugin.distribution for plugin in self.plugins.values()]
        there += [plugin.distribution for plugin in self.broken.values()]
        return canonical(name) in map(canonical, there)

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self.plugins.values())
