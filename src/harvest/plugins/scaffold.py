"""A new plugin: a complete project that installs and passes its own tests untouched."""

from __future__ import annotations

import keyword
from importlib.resources import files
from pathlib import Path
from string import Template

from harvest.errors import UsageError

__all__ = ["KINDS", "scaffold"]

KINDS = ("source", "sink", "view", "report")

_FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    ".gitlab-ci.yml": "gitlab-ci.yml.txt",
    "src/$package/plugin.py": "plugin_$kind.py.txt",
    "src/$package/$kind.py": "$kind.py.txt",
    "tests/test_$package.py": "test_$kind.py.txt",
}
_MORE = {"source": {"tests/data/sample.$word": "sample.txt"}}


def scaffold(name: str, kind: str, parent: Path) -> list[Path]:
    """Write the project ``harvest-NAME`` below ``parent``; gives the files written.

    name: of the plugin, in lower case with dashes.
    kind: source, sink, view or report.
    Raises UsageError for an unusable name or kind, or when the directory already exists.
    """
    if kind not in KINDS:
        raise UsageError(f"{kind!r} is not a kind of plugin", remedy="use " + ", ".join(KINDS))
    word = name.replace("-", "_")
    if not word.isidentifier() or not word.isascii() or word != word.lower():
        raise UsageError(
            f"{name!r} is not a valid plugin name",
            remedy="use lower-case letters, digits and dashes, beginning with a letter",
        )
    if keyword.iskeyword(word):
        raise UsageError(f"{name!r} is a word of Python's own", remedy="choose another name")
    root = parent / f"harvest-{name}"
    if root.exists():
        raise UsageError("it exists already", where=str(root), remedy="choose another name")
    words = {
        "name": name,
        "kind": kind,
        "word": word,
        "package": f"harvest_{word}",
        "title": "".join(part.capitalize() for part in word.split("_")),
    }
    written = []
    for target, template in (_FILES | _MORE.get(kind, {})).items():
        source = files("harvest.plugins") / "templates" / Template(template).substitute(words)
        path = root / Template(target).substitute(words)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(source.read_text("utf-8")).substitute(words), encoding="utf-8")
        written.append(path)
    package = root / "src" / words["package"]
    (package / "__init__.py").write_text(f'"""The harvest {kind} {name}."""\n', encoding="utf-8")
    (package / "py.typed").touch()
    return [*written, package / "__init__.py", package / "py.typed"]
