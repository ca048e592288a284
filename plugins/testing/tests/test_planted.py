"""The kit finds what authors get wrong: each planted bug by its promise; sound plugins keep all."""

from collections import Counter

import pytest
from planted.bugs_of_others import BUGS as OF_OTHERS
from planted.bugs_of_sources import BUGS as OF_SOURCES
from planted.bugs_of_views import BUGS as OF_VIEWS
from planted.planting import PLUGINS, sound, tried

BUGS = (*OF_SOURCES, *OF_VIEWS, *OF_OTHERS)
KITS = {
    "Source": ("lines", "ranges", "tree"),
    "View": ("views", "joined"),
    "Report": ("report",),
    "Sink": ("csvsink",),
    "Exporter": ("exporter",),
    "Engine": ("engine",),
}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_a_small_change_that_python_takes(bug):
    text = sound(bug.plugin)

    planted = bug.applied(text)

    compile(planted, bug.name, "exec")
    changed = Counter(planted.splitlines()) - Counter(text.splitlines())
    assert 0 <= changed.total() <= 15
    assert planted != text


def test_no_two_bugs_are_of_one_promise():
    kinds = {plugin: kind for kind, plugins in KITS.items() for plugin in plugins}
    assert max(Counter((kinds[bug.plugin], bug.promise) for bug in BUGS).values()) == 1
    assert max(Counter(bug.name for bug in BUGS).values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_found_by_its_promise(bug, tmp_path):
    for attempt in range(5):  # an order that is left to chance may be the same twice
        folder = tmp_path / str(attempt)
        folder.mkdir()
        code, said = tried(bug.plugin, folder, bug)
        if code:
            break

    assert code == 1, said
    assert f"::{bug.promise}" in said.partition("short test summary")[2]
    assert "remedy:" in said


@pytest.mark.slow
@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_sound_plugin_keeps_all_promises(plugin, tmp_path):
    code, said = tried(plugin, tmp_path)

    assert code == 0, said
