"""Reader of software in a job's output: lists by Spack, environment modules, or pip."""

import re
from collections.abc import Iterator
from typing import Any, Final

from harvest import Partition, ReadContext
from harvest_dask.records.types import RunSoftware
from harvest_toolkit.lines import numbered

from .jobfiles import LINE_LIMIT

OTHER: Final = "other output of the job"
LONGEST: Final = 16 * 1024
"""Maximum bytes of a line with packages."""
BLANK: Final = "blank line"

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")
_SPACK_SECTION: Final = re.compile(
    r"==> (?:(Installed packages)\b.*|\d+ (?:loaded|installed) packages?.*)"
)
_SPACK_GROUP: Final = re.compile(r"-- (\S+) / (.*?) -+")
_SPACK_HASH: Final = re.compile(r"[a-z2-7]{7,32}")
_SPACK: Final = re.compile(
    r"(?:(?P<namespace>[a-z][\w-]*)\.)?(?P<name>[A-Za-z0-9][\w-]*)@=?(?P<version>[^\s%+~@/]+)"
    r"(?P<variants>[^\s%]*)(?:%(?P<compiler>\S+))?"
)
_MODULES: Final = re.compile(r"\s*Currently Loaded (?:Modules|Modulefiles):\s*", re.IGNORECASE)
_MODULE: Final = re.compile(r"(?<!\d)(\d{1,6})\)\s+(\S+)(?:\s+\([\w, ]+\))?(?=\s|$)")
_PIP_HEAD: Final = re.compile(r"Package\s+Version(?:\s+.*)?")
_PIP_RULE: Final = re.compile(r"-{3,}\s+-{3,}.*")
_PIP: Final = re.compile(r"([A-Za-z0-9][\w.-]*)\s+(\d\S*|[\w.!+-]*\d[\w.!+-]*)(?:\s+(\S.*))?")
_FREEZE: Final = re.compile(r"([A-Za-z0-9][\w.-]*)==([A-Za-z0-9][\w.!+-]*)")


def packages(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[RunSoftware]:
    """Read the packages that a job's output lists, one row each.

    ``position`` numbers the packages of the file; ``extra`` has the line and the list's kind.  A
    unit is a package on a line of a list, or any other line.
    """
    reader, position = _Lists(), 0
    for number, raw, size, ended in numbered(partition.path, LINE_LIMIT):
        ctx.advance(size + ended)
        line = _ANSI.sub("", raw.decode("utf-8", "backslashreplace")).rstrip()
        found = reader.packages(line) if len(raw) <= LONGEST else []
        ctx.read(max(len(found), 1))
        if not found:
            ctx.filtered(1, OTHER if line else BLANK)
        for package in found:
            position += 1
            package.position = position
            package.extra = {**(package.extra or {}), "line": str(number)}
            yield package


class _Lists:
    """Finds the lines of a list of packages in other output, line by line."""

    def __init__(self) -> None:
        self.inside = ""
        self.arch: str | None = None
        self.compiler: str | None = None

    def packages(self, line: str) -> list[RunSoftware]:
        """Return the packages on a line; none if it is not a line of a list."""
        if self._heading(line):
            return []
        frozen = _FREEZE.fullmatch(line)
        if frozen:
            return [RunSoftware(name=frozen[1], version=frozen[2], extra={"list": "pip"})]
        found: list[RunSoftware] = []
        if self.inside == "spack":
            found = self._spack(line)
        elif self.inside == "module":
            found = self._modules(line)
        elif self.inside == "pip" and (match := _PIP.fullmatch(line)):
            extra = {"list": "pip"} | ({"location": match[3]} if match[3] else {})
            found = [RunSoftware(name=match[1], version=match[2], extra=extra)]
        if not found and (line or self.inside == "pip"):
            self.inside = ""
        return found

    def _heading(self, line: str) -> bool:
        if _SPACK_SECTION.fullmatch(line):
            self.inside, self.arch, self.compiler = "spack", None, None
        elif group := _SPACK_GROUP.fullmatch(line):
            self.inside, self.arch, self.compiler = "spack", group[1], group[2]
        elif _MODULES.fullmatch(line):
            self.inside = "module"
        elif _PIP_HEAD.fullmatch(line):
            self.inside = "pip"
        else:
            return self.inside == "pip" and _PIP_RULE.fullmatch(line) is not None
        return True

    def _spack(self, line: str) -> list[RunSoftware]:
        """Parse a line of ``spack find``: one package, several in columns, or with hashes."""
        found: list[RunSoftware] = []
        hashed: str | None = None
        for word in line.split():
            match = _SPACK.fullmatch(word)
            if match is None:
                if _SPACK_HASH.fullmatch(word) and hashed is None:
                    hashed = word
                    continue
                if found and word[0] in "+~":  # variants of the package before
                    extra = found[-1].extra or {}
                    extra["variants"] = f"{extra.get('variants', '')} {word}".strip()
                    continue
                return []
            details: dict[str, str | None] = {
                "list": "spack",
                "namespace": match["namespace"],
                "arch": self.arch,
                "variants": match["variants"] or None,
                "hash": hashed,
            }
            hashed = None
            found.append(
                RunSoftware(
                    name=match["name"],
                    version=match["version"],
                    compiler=self._compiler(match["compiler"]),
                    extra={key: value for key, value in details.items() if value},
                )
            )
        return found

    def _compiler(self, named: str | None) -> str | None:
        """Return the compiler, with its version if it is in the group's heading."""
        if named is None or (self.compiler or "").partition("@")[0] == named:
            return self.compiler if self.compiler != "no compilers" else None
        return named

    def _modules(self, line: str) -> list[RunSoftware]:
        found = []
        for match in _MODULE.finditer(line):
            name, _, version = match[2].rpartition("/")
            if not name:
                name, version = version, ""
            found.append(RunSoftware(name=name, version=version or None, extra={"list": "module"}))
        return found
