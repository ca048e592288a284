"""Write a new plugin: a complete project that installs and passes its own checks unchanged.

Each file of the project is made from the template of the same path. Each kind of plugin has a
module, its tests, and a hook that is appended to ``plugin.py``.
"""

import keyword
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import requires, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from harvest import UsageError
from harvest.plugins import PluginManager, manager

NAME_LENGTH = 32
"""Maximum characters of a name: with longer names, generated lines would be too long."""

_PROJECT = (
    "pyproject.toml README.md LICENSE .gitignore .gitlab-ci.yml "
    "src/$package/__init__.py src/$package/py.typed src/$package/plugin.py"
)
_OF_A_KIND = {
    "source": "src/$package/source.py tests/test_source.py "
    "tests/data/first.$word tests/data/second.$word",
    "sink": "src/$package/sink.py tests/test_sink.py",
    "view": "src/$package/views/__init__.py src/$package/views/per_origin.py "
    "tests/test_view.py tests/conftest.py",
    "report": "src/$package/report.py tests/test_report.py tests/conftest.py",
}
"""For each kind of plugin: its files in the project."""

KINDS = tuple(_OF_A_KIND)


def scaffold(
    name: str, kinds: Iterable[str], parent: Path, *, columnar: bool = False, url: str = ""
) -> list[Path]:
    """Write the project ``harvest-NAME`` below ``parent``; return the files written.

    name: name of the plugin, in lower case with dashes.
    kinds: kinds of plugin that the project offers: source, sink, view, report.
    columnar: the source reads many lines at a time and yields Arrow data.
    url: address of the project, for its package page.
    Raises UsageError for an invalid or taken name, an unknown kind, or an existing directory.
    """
    chosen = _known(kinds, columnar)
    root = parent / f"harvest-{name}"
    words = _words(name, chosen, url)
    if root.exists():
        raise UsageError(
            "it exists already",
            where=str(root),
            remedy="choose another name, or add a kind to it with --add",
        )
    _require_free(name, words["word"], manager())
    texts = _rendered(_PROJECT, root, words)
    plugin = root / "src" / words["package"] / "plugin.py"
    texts[plugin] = _with_hooks(texts[plugin], chosen, words)
    return _write(texts | _parts(root, chosen, words, columnar))


def add_kinds(
    name: str, kinds: Iterable[str], parent: Path, *, columnar: bool = False
) -> list[Path]:
    """Add kinds of plugin to the existing project ``harvest-NAME``; return the files written.

    Raises UsageError if the project does not exist or already has one of these kinds.
    """
    chosen = _known(kinds, columnar)
    words = _words(name, chosen, "")
    root = parent / f"harvest-{name}"
    plugin = root / "src" / words["package"] / "plugin.py"
    if not plugin.is_file():
        raise UsageError("it does not exist", where=str(plugin), remedy="leave out --add")
    text = plugin.read_text("utf-8")
    if not re.search(r"^import harvest$", text, re.MULTILINE):
        raise UsageError("it does not import harvest", where=str(plugin), remedy="import harvest")
    texts = _parts(root, chosen, words, columnar)
    shared = root / "tests" / "conftest.py"
    if shared.exists():
        texts.pop(shared, None)  # the existing view or report already has it
    present = [path for path in texts if path.exists()]
    present += [plugin for kind in chosen if f"def harvest_{kind}s(" in text]
    if present:
        raise UsageError("it is there already", where=str(present[0]), remedy="choose another kind")
    texts[plugin] = _with_hooks(text, chosen, words)
    return _write(texts)


def _known(kinds: Iterable[str], columnar: bool) -> list[str]:
    """Return the kinds in the order of ``KINDS``, each once; raise UsageError for others."""
    asked = list(kinds)
    for kind in asked:
        if kind not in KINDS:
            raise UsageError(f"{kind!r} is not a kind of plugin", remedy="use " + ", ".join(KINDS))
    if columnar and "source" not in asked:
        raise UsageError("only a source is columnar", remedy="add --kind source")
    return [kind for kind in KINDS if kind in asked]


def _words(name: str, kinds: list[str], url: str) -> dict[str, str]:
    """Return the values of the templates' placeholders; raise UsageError for a bad name or URL."""
    word = name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > NAME_LENGTH:
        raise UsageError(
            f"{name!r} is not a valid plugin name",
            remedy="use lower-case letters, digits and single dashes, beginning with a letter, "
            f"at most {NAME_LENGTH}",
        )
    if keyword.iskeyword(word):
        raise UsageError(f"{name!r} is a word of Python's own", remedy="choose another name")
    if name.startswith("harvest-"):
        raise UsageError(
            f"the project of {name!r} would be called harvest-{name}",
            remedy=f"leave that out: harvest plugins new {name.removeprefix('harvest-')}",
        )
    if url and not re.fullmatch(r'https?://[^\s"\\\x00-\x1f\x7f]+', url):
        raise UsageError(f"{url!r} is not a web address", remedy="begin it with https://")
    return {
        "name": name,
        "kinds": ", ".join(kinds),
        "word": word,
        "package": f"harvest_{word}",
        "title": "".join(part.capitalize() for part in word.split("_")),
        "bounds": version_bounds(version("hpc-harvest")),
        "urls": f'\n[project.urls]\nHomepage = "{url}"\n' if url else "",
        "year": str(datetime.now(UTC).year),
    }


def version_bounds(running: str) -> str:
    """Return the requirement on harvest's version for a plugin begun with this version.

    It allows this minor version (for a pre-release, this version) up to the next major version.
    """
    public = running.partition("+")[0]
    major, minor = public.split(".")[:2]
    lowest = f"{major}.{minor}" if re.fullmatch(r"[\d.]+", public) else public
    return f">={lowest},<{int(major) + 1}"


def _require_free(name: str, word: str, found: PluginManager) -> None:
    """Raise UsageError for the name of an installed plugin or package, or of a plugin of ours."""
    ours = re.compile(r"hpc-harvest-([a-z0-9-]+)")
    matches = (ours.match(requirement) for requirement in requires("hpc-harvest") or ())
    holders = {match[1]: match[0] for match in matches if match}
    for specs in (found.views, found.reports, found.sources, found.sinks, found.engines):
        owners = {key.partition(".")[0]: found.owner(spec) for key, spec in specs.items()}
        holders |= {key: plugin.distribution for key, plugin in owners.items()}
    for plugin in (*found, *found.broken.values()):
        holders |= dict.fromkeys((plugin.name, plugin.distribution), plugin.distribution)
    if find_spec(f"harvest_{word}") is not None:  # harvest_toolkit, harvest_report, ...
        holders.setdefault(name, f"the installed package harvest_{word}")
    for taken in (name, word, f"harvest-{name}"):
        if taken in holders:
            raise UsageError(
                f"the name {name!r} is taken by {holders[taken]}", remedy="choose another name"
            )


def _with_hooks(module: str, kinds: list[str], words: Mapping[str, str]) -> str:
    """Append a hook for each kind to the text of ``plugin.py``, and add the imports they need."""
    if "view" in kinds:
        views = f"\n\nfrom {words['package']}.views import VIEWS"
        module = re.sub(r"(?m)^import harvest$", rf"\g<0>{views}", module, count=1)
    hooks = [_render(f"hook_{kind}.py", words) for kind in kinds]
    return "\n".join([module.rstrip("\n") + "\n", *hooks])


def _parts(root: Path, kinds: list[str], words: dict[str, str], columnar: bool) -> dict[Path, str]:
    """Render the files of the kinds: path -> text."""
    way = _render(f"source_{'columns' if columnar else 'rows'}.py", words)
    imports, _, read = way.rstrip("\n").partition("\n# ---- read\n")
    names = " ".join(_OF_A_KIND[kind] for kind in kinds)
    given = {"imports": imports, "read": read}
    return _rendered(names, root, words | given | (_COLUMNAR if columnar else _PLAIN))


_PLAIN = {"source_base": "harvest.Source", "config_base": "", "partitions": ""}
_COLUMNAR = {
    "source_base": "LineSource",
    "config_base": "(LineConfig)",
    "partitions": '    partition_setting = ("partition_bytes", (64, 16))\n',
}
"""What templates say of a source that reads rows, and of one that reads columns."""


def _rendered(names: str, root: Path, words: Mapping[str, str]) -> dict[Path, str]:
    return {root / Template(n).substitute(words): _render(n, words) for n in names.split()}


def _render(name: str, words: Mapping[str, str]) -> str:
    source = files("harvest_testing") / "templates" / f"{name}.txt"
    return Template(source.read_text("utf-8")).substitute(words)


def _write(texts: Mapping[Path, str]) -> list[Path]:
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)
