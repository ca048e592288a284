"""The names that plugins declare, and their owners if several plugins declare one.

A name belongs to the plugin that declares it. If several distributions declare it, it belongs to
the first that the user prefers, or else to the project's own. The order of discovery does not
matter. If neither rule decides, using the name is an error that lists all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from harvest.errors import UsageError

from .known import canonical, is_ours

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
        problem = f"{self.kind} {self.name!r} is declared by {' and '.join(self.distributions)}"
        return UsageError(problem, remedy=self.choice())


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
