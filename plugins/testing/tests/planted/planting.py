"""A planted bug: a small change of a sound plugin, which is tried as its author would try it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import attrs

SOUND = Path(__file__).parent / "sound"
EXAMPLES = Path(__file__).parents[4] / "examples" / "plugins"
ENGINE = EXAMPLES / "harvest-futures/src/harvest_futures/engine.py"
PLUGINS = {
    "lines": "planted_lines:LinesSource",
    "ranges": "planted_ranges:RangesSource",
    "tree": "planted_tree:TreeSource",
    "views": "planted_views",
    "joined": "planted_joined",
    "report": "planted_report",
    "csvsink": "planted_csvsink:CsvSink",
    "exporter": "planted_exporter",
    "engine": "",
}
"""The sound plugins, by the names of their modules: the entry point of each, if it has one."""


@attrs.frozen
class Bug:
    """What somebody who writes such a plugin could get wrong.

    plugin: of ``PLUGINS``; promise: the kit's test that finds it; name: unique among all bugs.
    what: what is wrong, and for whom that matters.
    changes: pairs of a text that stands once in the plugin's module, and what takes its place.
    """

    plugin: str = attrs.field(validator=attrs.validators.in_(PLUGINS))
    promise: str
    name: str
    what: str
    changes: tuple[tuple[str, str], ...]

    def applied(self, text: str) -> str:
        """The module's text with the bug; raises ValueError where it is not what it was."""
        for old, new in self.changes:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {text.count(old)} times in the module: {old}")
            text = text.replace(old, new)
        return text


def bug(plugin: str, promise: str, name: str, what: str, *changes: tuple[str, str]) -> Bug:
    return Bug(plugin, promise, name, what, changes)


def sound(plugin: str) -> str:
    """The text of a sound plugin's module."""
    return (ENGINE if plugin == "engine" else SOUND / f"planted_{plugin}.py").read_text()


def install(plugin: str, directory: Path, bug: Bug | None = None) -> Path:
    """Write a plugin and its conformance class as installed; gives the file of the class."""
    for path in SOUND.glob("*.py"):
        shutil.copy(path, directory)
    text = sound(plugin)
    (directory / f"planted_{plugin}.py").write_text(text if bug is None else bug.applied(text))
    described = directory / "planted-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    points = [f"planted-{name} = {where}\n" for name, where in PLUGINS.items() if where]
    (described / "entry_points.txt").write_text("[harvest]\n" + "".join(points))
    (directory / "pytest.ini").write_text("[pytest]\n")
    test = directory / f"test_{plugin}.py"
    shutil.copy(SOUND / f"check_{plugin}.py", test)
    return test


def tried(plugin: str, directory: Path, bug: Bug | None = None) -> tuple[int, str]:
    """Run a plugin's class, of a bug the promise that finds it; pytest's code, and what it says."""
    test = install(plugin, directory, bug)
    (directory / "tmp").mkdir()
    paths = [str(directory), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    more = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "TMPDIR": str(directory / "tmp")}
    more["POLARS_MAX_THREADS"] = "4"  # what has no order comes in one by a single thread
    more["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others than the kit's take as long as the test
    words = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", "-p", "harvest_testing.pytest_plugin"]
    words += ["-k", bug.promise] if bug else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, test.name],
        cwd=directory, env=os.environ | more, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
