"""A planted bug: a small change of a sound plugin, and a directory in which the plugin has it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import attrs

SOUND: Final = Path(__file__).parent / "sound"
EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "plugins"
ELSEWHERE: Final = {"engine": EXAMPLES / "harvest-futures/src/harvest_futures/engine.py"}
"""Sound plugins that are there already."""

PLUGINS: Final = {
    "lines": "planted_lines:LinesSource",
    "ranges": "planted_ranges:RangesSource",
    "stations": "planted_stations:StationsSource",
    "nested": "planted_nested:NestedSource",
    "tree": "planted_tree:TreeSource",
    "views": "planted_views",
    "joined": "planted_joined",
    "report": "planted_report",
    "csvsink": "planted_csvsink:CsvSink",
    "sqlitesink": "planted_sqlitesink:SqliteSink",
    "exporter": "planted_exporter",
    "engine": "",
}
"""The sound plugins, by the names of their modules: the entry point of each, if it has one."""


@attrs.frozen
class Bug:
    """What somebody who writes such a plugin could get wrong.

    plugin: of ``PLUGINS``; name: unique among all bugs.
    kind: what sort of mistake it is; several bugs share one.
    what: what is wrong, and for whom that matters.
    changes: pairs of a text that stands once in the plugin's module, and what takes its place.
    unknowable: why nobody can know it without knowing the format or the meaning; empty where one
        can.
    """

    plugin: str = attrs.field(validator=attrs.validators.in_(PLUGINS))
    kind: str
    name: str
    what: str
    changes: tuple[tuple[str, str], ...]
    unknowable: str = ""

    def applied(self, text: str) -> str:
        """The module's text with the bug; raises ValueError where it is not what it was."""
        for old, new in self.changes:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {text.count(old)} times in the module: {old}")
            text = text.replace(old, new)
        return text


def sound(plugin: str) -> str:
    """The text of a sound plugin's module."""
    return ELSEWHERE.get(plugin, SOUND / f"planted_{plugin}.py").read_text()


def install(plugin: str, directory: Path, bug: Bug | None = None) -> Path:
    """Write a plugin and its conformance class as installed; gives the file of the class."""
    module = f"planted_{plugin}.py"
    for path in SOUND.glob("*.py"):
        shutil.copy(path, directory)
    text = sound(plugin)
    (directory / module).write_text(text if bug is None else bug.applied(text))
    described = directory / "planted-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    points = [f"planted-{name} = {where}\n" for name, where in PLUGINS.items() if where]
    (described / "entry_points.txt").write_text("[harvest]\n" + "".join(points))
    (directory / "pytest.ini").write_text("[pytest]\n")
    test = directory / f"test_{plugin}.py"
    shutil.copy(SOUND / f"check_{plugin}.py", test)
    return test
