"""A location without a source is read by all that are sure of it; nobody is left out in silence."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import small_inputs
from commands import harvest_here

import harvest
from harvest import Detection, Partition, ReadContext, Record, Source, UsageError
from harvest.plugins.registry import PluginManager
from harvest.recipes.choose import name_sources
from harvest.recipes.recipe import Endpoint, Recipe


def command(*arguments: object) -> CompletedProcess[str]:
    """Run ``harvest ARGUMENTS...``, which ends well or with rejects."""
    done = harvest_here(*arguments)
    assert done.returncode in (0, 3), done.stderr
    return done


NAMES = ("mofka-dask", "darshan", "slurm")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A directory with a Dask run, its Darshan logs, and one accounting dump."""
    if not set(NAMES) <= small_inputs.MAKERS.keys():
        pytest.skip("needs the plugins " + ", ".join(NAMES))
    folder = tmp_path / "study"
    folder.mkdir()
    for name in NAMES:
        for file, data in small_inputs.MAKERS[name](1).items():
            if name != "slurm" or file == "a.txt":
                (folder / file).write_bytes(data)
    return folder


def rows(dataset: Path) -> dict[str, int]:
    return harvest.open(dataset).record_types


@pytest.mark.slow
def test_every_way_to_name_a_location_takes_the_same_sources(study, tmp_path):
    out = f"parquet:{tmp_path / 'out'}"
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'[[source]]\nlocation = "{study}"\n'
        f'[[sink]]\nname = "parquet"\nlocation = "{tmp_path / "out"}"\n'
    )

    # a dry run and a printed recipe name the sources; so does the result in Python
    planned = json.loads(command("run", recipe, "--dry-run", "--json").stdout)
    assert {part["source"] for part in planned} == set(NAMES)
    printed = tomllib.loads(command("run", recipe, "--print-config").stdout)
    assert [source["name"] for source in printed["source"]] == ["darshan", "mofka-dask", "slurm"]
    made = harvest.run(str(study), out, dry_run=True)
    assert {planned.part.source for planned in made.plan.partitions} == set(NAMES)
    assert "read by darshan (100% sure) and mofka-dask (95% sure)" in made.choices[0]

    # preview shows all, a schedule remarks on it, and a watch reads all
    shown = command("preview", "-s", study, "-n", "1")
    assert "darshan.job: 1 of 2 rows" in shown.stdout
    assert "dask.worker: 1 of " in shown.stdout
    assert "read by" in shown.stderr
    assert "read by" in command("schedule", "-s", study, "-k", out).stderr
    watched = command("watch", "-s", study, "-k", out, "--settle", "0", "--runs", "1")
    assert "read by" in watched.stderr
    places = [f"mofka-dask:{study}", f"darshan:{study}", f"slurm:{study / 'a.txt'}"]
    harvest.run(places, f"parquet:{tmp_path / 'named'}")
    assert rows(tmp_path / "out") == rows(tmp_path / "named")

    # and the record of the run names them, so that it can be read again
    (run,) = harvest.open(tmp_path / "out").runs()
    assert [source["name"] for source in run["sources"]] == ["darshan", "mofka-dask", "slurm"]


@harvest.record("choose.line", layer="workflow", level="client")
class Line(Record):
    """A line."""

    text: str


class Lines(Source):
    """Reads lines of any file, and is as sure of each as its class says."""

    record_types = (Line,)
    sure = 0.0

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        return Detection(cls.sure, "a file") if path.is_file() else None

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Line]:
        for text in partition.path.read_text().splitlines():
            yield Line(text=text)


def lines_of(name: str, sure: float) -> type[Lines]:
    return type(name.title(), (Lines,), {"name": name, "sure": sure})


Surest, Alike, Sure = lines_of("surest", 0.95), lines_of("alike", 0.95), lines_of("sure", 0.8)
Weak, Faint, Dim = lines_of("weak", 0.4), lines_of("faint", 0.2), lines_of("dim", 0.2)


class Texts(Lines):
    """Sure of the files of one ending."""

    name, sure, ending = "texts", 0.9, ".txt"

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        return Detection(cls.sure, "its ending") if path.name.endswith(cls.ending) else None


class Notes(Texts):
    name, sure, ending = "notes", 0.95, ".md"


class Tables(Texts):
    name, sure, ending = "tables", 0.6, ".csv"


def knowing(*sources: type[Source]) -> PluginManager:
    """A manager of the core and some of the sources above."""
    return harvest.plugins_of(*sources)


def chosen(location: Path, *sources: type[Source]) -> tuple[list[str | None], list[str]]:
    """The sources that read a bare location, and what is said about it."""
    recipe = Recipe(sources=(Endpoint(None, str(location)),))
    named, remarks = name_sources(recipe, knowing(*sources))
    return [endpoint.name for endpoint in named.sources], remarks


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A text file, alone in its directory."""
    path = tmp_path / "in" / "a.txt"
    path.parent.mkdir()
    path.write_text("one\n")
    return path


def test_where_no_source_is_sure_the_surest_reads_and_the_other_is_named(file):
    names, (remark,) = chosen(file.parent, Weak, Faint)
    assert names == ["weak"]
    assert remark == (
        f"{file.parent}: read by weak (40% sure); not by faint (20% sure), "
        f"which -s faint:{file.parent} adds"
    )


def test_a_file_has_one_format_so_the_surest_reads_it_and_the_other_is_named(file):
    names, (remark,) = chosen(file, Surest, Sure)
    assert names == ["surest"]
    assert remark.endswith(f"not by sure (80% sure), which -s sure:{file} adds")


@pytest.mark.parametrize(("sources", "of"), [((Surest, Alike), "file"), ((Faint, Dim), "folder")])
def test_what_cannot_be_decided_is_refused_with_the_options_that_decide_it(file, sources, of):
    location = file if of == "file" else file.parent
    with pytest.raises(UsageError) as refused:
        chosen(location, *sources)

    text = str(refused.value)
    assert "equally well" in text
    for source in sources:
        assert f"-s {source.name}:{location}" in text


def test_one_foreign_file_among_many_good_ones_is_left_out_and_named(file):
    """Else a source that reads all of a directory would reject it."""
    for number in range(30):
        (file.parent / f"{number}.txt").write_text("words\n")
    (file.parent / "b.md").write_text("words\n")

    recipe = Recipe(sources=(Endpoint(None, str(file.parent)),))
    named, (remark,) = name_sources(recipe, knowing(Texts))

    texts = {str(path) for path in file.parent.iterdir() if path.suffix == ".txt"}
    assert {endpoint.location for endpoint in named.sources} == texts
    assert remark == f"{file.parent}: 1 file that no source recognises, such as b.md"


def test_a_source_reads_its_own_files_where_others_lie_and_a_place_that_is_named_only_once(file):
    """Given files of two sources in one directory, each at the file that is its own."""
    (file.parent / "b.md").write_text("words\n")

    recipe = Recipe(sources=(Endpoint(None, str(file.parent)),))
    named, _ = name_sources(recipe, knowing(Texts, Notes))
    assert [(e.name, e.location) for e in named.sources] == [
        ("notes", str(file.parent / "b.md")),
        ("texts", str(file)),
    ]
    again = Recipe(sources=(Endpoint("texts", str(file.parent)), Endpoint(None, str(file.parent))))
    named, _ = name_sources(again, knowing(Texts, Notes))
    assert [e.name for e in named.sources] == ["texts", "notes"]


def test_a_source_that_is_half_sure_beside_one_that_is_sure_is_named_and_not_asked(file):
    (file.parent / "b.csv").write_text("1\n")
    names, remarks = chosen(file.parent, Texts, Tables)
    assert names == ["texts"]
    assert remarks[0].endswith(
        f"not by tables (60% sure), which -s tables:{file.parent / 'b.csv'} adds"
    )
