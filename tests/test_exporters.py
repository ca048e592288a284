"""Exporters: a dataset in a form that others take, by whatever plugin brings it."""

from pathlib import Path

import pytest
from commands import harvest_here
from greeting import TEN_LINES

import harvest
from harvest.pipeline.exporting import export_all
from harvest.plugins.registry import PluginManager
from harvest.recipes.recipe import Recipe

EXPORTER = """
def write(dataset, target, *, end="!", times=1):
    if not end:
        raise ValueError("an empty end")
    texts = dataset["greeting.line"].collect()["text"]
    with open(target, "x") as file:
        file.writelines(text + end * times + "\\n" for text in texts)
    return [target]


shouting = harvest.ExporterSpec(
    name="shouting",
    doc="Lines of text with marks behind.",
    write=write,
    settings={
        "end": harvest.Setting("what follows each line", type=str, default="!"),
        "times": harvest.Setting("how often", type=int, default=1),
    },
)
"""


PATIENT = """
import harvest

changed = iter(range({times}))


def write(dataset, target):
    for _ in changed:
        raise harvest.DatasetChanged("others write to it")
    return [target]


patient = harvest.ExporterSpec(name="patient", doc="Takes its time.", write=write)
"""
AGAIN = "other runs kept writing to the dataset"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a plugin in a file and a dataset that its source wrote."""
    (tmp_path / "shouting.py").write_text(TEN_LINES + EXPORTER)
    (tmp_path / "hello.txt").write_text("good\nmorning\n")
    source = f"{tmp_path / 'shouting.py'}:{tmp_path / 'hello.txt'}"
    harvest.run(source, f"parquet:{tmp_path / 'out'}", plugins=PluginManager(disabled=""))
    return tmp_path


def opened(place: Path) -> harvest.Dataset:
    """The dataset, with the plugin of the file."""
    plugins = PluginManager(disabled="")
    plugins.add_file(place / "shouting.py")
    return harvest.open(place / "out", plugins=plugins)


def test_an_exporter_writes_by_its_settings_which_may_be_text(place):
    dataset = opened(place)

    assert dataset.export("shouting", place / "a.txt") == [place / "a.txt"]
    dataset.export("shouting", place / "b.txt", end="?", times="2")

    assert (place / "a.txt").read_text() == "good!\nmorning!\n"
    assert (place / "b.txt").read_text() == "good??\nmorning??\n"


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("shoutin", {}, "unknown exporter 'shoutin'; did you mean 'shouting'"),
        ("shouting", {"ending": "?"}, "exporter 'shouting' has no setting 'ending'"),
        ("shouting", {"times": "often"}, "'often' does not fit: must be a whole number"),
        ("shouting", {"end": ""}, "exporter 'shouting' does not take end='': an empty end"),
    ],
)
def test_what_cannot_be_exported_is_refused_with_words(place, name, settings, words):
    with pytest.raises(harvest.HarvestError) as caught:
        opened(place).export(name, place / "a.txt", **settings)
    assert words in str(caught.value)
    assert not (place / "a.txt").exists()


@pytest.mark.parametrize(("times", "said"), [(9, None), (10, AGAIN)])
def test_an_export_of_a_run_begins_anew_when_others_write_meanwhile(place, times, said):
    # given an exporter that finds the dataset changed this many times
    (place / "patient.py").write_text(PATIENT.format(times=times))
    plugins = PluginManager(disabled="")
    plugins.add_file(place / "patient.py")

    exports = export_all(Recipe(export=("patient:x",)), opened(place).sink, plugins)

    assert exports == {"patient:x": said}


def test_the_command_line_takes_settings_and_the_options_of_their_names(place):
    here = ("--plugin", str(place / "shouting.py"))
    target = str(place / "a.txt")

    done = harvest_here(*here, "export", str(place / "out"), target, "--as", "shouting",
                        "--set", "times=3")  # fmt: skip
    assert done.stdout == f"1 file written to {target}\n"
    assert (place / "a.txt").read_text() == "good!!!\nmorning!!!\n"

    for options, words in (
        (("--license", "MIT"), "--as shouting has no --license"),
        (("--set", "title=A"), "exporter 'shouting' has no setting 'title'"),
    ):
        again = harvest_here(*here, "export", str(place / "out"), str(place / "b.txt"), "--as",
                             "shouting", *options)  # fmt: skip
        assert again.returncode == 2
        assert words in again.stderr

    assert "shouting" in harvest_here(*here, "plugins", "list", "--kind", "exporter").stdout
    shown = harvest_here(*here, "plugins", "show", "shouting").stdout
    assert "exporter shouting: Lines of text with marks behind." in shown
    assert "what follows each line" in shown
