"""A Python file is a plugin: ``harvest run -s ./greeting.py:hello.txt`` needs no package."""

import hashlib
import json
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commands import harvest_here

import harvest
from harvest import ConfigError, HarvestError, UsageError
from harvest.plugins import registered
from harvest.plugins.registry import manager
from harvest.reading.rows import collect
from harvest.recipes.endpoints import endpoint_of
from harvest.recipes.recipe import Endpoint
from harvest_testing.lab.process import in_process

pytestmark = pytest.mark.usefixtures("no_plugin_files")

GREETING = '''\
import attrs
import harvest

@harvest.record("greeting.line", layer="workflow", level="client")
class Line(harvest.Record):
    """One line of a greeting file."""
    text: str = harvest.field(role="subject", doc="The line, without its end.")

@attrs.frozen(kw_only=True)
class Config:
    """Settings."""
    upper: bool = attrs.field(default=False, metadata={"doc": "Write in upper case."})

class GreetingSource(harvest.Source):
    """Greeting files, line by line."""
    name, record_types, Config = "greeting", (Line,), Config
    def read(self, partition, ctx):
        for line in partition.path.read_text().splitlines():
            yield Line(text=line.upper() if self.config.upper else line)
'''
VIEW = """
COUNT = harvest.View(
    name="greeting.count", doc="How many lines.", requires=("greeting.line",),
    build=lambda dataset: dataset["greeting.line"].select(lines=harvest_len()),
)
from polars import len as harvest_len
"""
SECOND = '''
class PartingSource(GreetingSource):
    """The same, for partings."""
    name = "parting"
'''
SINK = '''\
from harvest_parquet.sink import ParquetSink

class MySink(ParquetSink):
    """Parquet by another name."""
    name = "mine"
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with the plugin's file and an input of two lines."""
    (tmp_path / "greeting.py").write_text(GREETING)
    (tmp_path / "hello.txt").write_text("good\nmorning\n")
    return tmp_path


def good(*words: object, cwd: Path) -> str:
    """What ``harvest WORDS`` prints; it ends well."""
    done = harvest_here(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def account(*words: object, cwd: Path) -> list[int]:
    """Partitions read and left as they were by ``harvest run WORDS``."""
    (source,) = json.loads(good("run", *words, "--json", cwd=cwd))["sources"]
    return [source["partitions"], source["skipped"]]


def texts(folder: Path) -> list[str]:
    asked = ("--plugin", "greeting.py", "query", "out", "select text from greeting.line")
    lines = good(*asked, "--json", cwd=folder).splitlines()
    return [json.loads(line)["text"] for line in lines]


# --- from the command line


@pytest.mark.parametrize(
    "source",
    ["./greeting.py:hello.txt", "greeting.py:GreetingSource:hello.txt", "greeting.py:greeting:."],
)
def test_a_file_reads_without_a_package(folder, source):
    if source.endswith(":."):
        (folder / "in").mkdir()
        (folder / "hello.txt").rename(folder / "in" / "hello.txt")
        source = source.removesuffix(".") + "in"

    good("run", "-s", source, "-k", "parquet:out", cwd=folder)

    assert texts(folder) == ["good", "morning"]


def test_a_file_of_several_sources_shows_what_to_write(folder):
    (folder / "greeting.py").write_text(GREETING + SECOND)

    done = harvest_here("run", "-s", "greeting.py:hello.txt", "-k", "parquet:out", cwd=folder)

    assert done.returncode == 2
    assert "it declares 2 sources; write greeting.py:GreetingSource:LOCATION or " in done.stderr
    assert "greeting.py:PartingSource:LOCATION" in done.stderr
    chosen = "greeting.py:PartingSource:hello.txt"
    assert account("-s", chosen, "-k", "parquet:out", cwd=folder) == [1, 0]


def test_a_sink_of_a_file(folder):
    (folder / "my_sink.py").write_text(SINK)

    run = ("-s", "greeting.py:hello.txt", "-k", "./my_sink.py:out")
    assert account(*run, "--set", "mine.compression=snappy", cwd=folder) == [1, 0]

    manifest = json.loads((folder / "out/_harvest/manifest.json").read_text())
    assert manifest["sink"] == "mine"


def test_an_edited_file_reads_its_inputs_again(folder):
    run = ("-s", "greeting.py:hello.txt", "-k", "parquet:out")
    assert account(*run, cwd=folder) == [1, 0]
    assert account(*run, cwd=folder) == [0, 1]

    (folder / "greeting.py").write_text(GREETING.replace("else line", "else '!' + line"))

    assert account(*run, cwd=folder) == [1, 0]
    assert texts(folder) == ["!good", "!morning"]
    digest = hashlib.sha256((folder / "greeting.py").read_bytes()).hexdigest()
    records = (folder / "out/_harvest/runs").glob("*.json")
    record = max(records, key=lambda path: path.stat().st_mtime_ns)
    document = json.loads(record.read_text())
    assert document["source_plugins"] == {"greeting": f"greeting.py {digest[:12]}"}
    assert document["sources"][0]["plugin"] == str(folder / "greeting.py")


def test_settings_are_given_by_the_name_of_the_source(folder):
    run = ("run", "-s", "greeting.py:hello.txt", "-k", "parquet:out")
    good(*run, "--set", "greeting.upper=yes", cwd=folder)

    assert texts(folder) == ["GOOD", "MORNING"]
    misspelt = harvest_here(*run, "--set", "greeting.uper=yes", cwd=folder)
    assert misspelt.returncode == 2
    assert "did you mean 'upper'?" in misspelt.stderr


def test_a_recipe_names_a_file_that_lies_beside_it(folder, tmp_path_factory):
    recipe = folder / "greet.toml"
    recipe.write_text(
        '[[source]]\nplugin = "greeting.py"\nlocation = "in.txt"\n'
        '[[sink]]\nname = "parquet"\nlocation = "out"\n[set.greeting]\nupper = true\n'
    )
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "in.txt").write_text("hello\n")
    (elsewhere / "greeting.py").write_text("raise SystemExit('the wrong file')")

    assert account(recipe, cwd=elsewhere) == [1, 0]

    printed = good("run", recipe, "--print-config", cwd=elsewhere)
    (source,) = tomllib.loads(printed)["source"]
    assert source == {
        "plugin": str(folder / "greeting.py"), "name": "greeting", "location": "in.txt"
    }  # fmt: skip
    (elsewhere / "printed.toml").write_text(printed)
    assert account("printed.toml", cwd=elsewhere) == [0, 1]


def test_looking_before_harvesting(folder):
    shown = good("preview", "-s", "greeting.py:hello.txt", cwd=folder)
    assert "morning" in shown
    shown = good("plugins", "show", "./greeting.py", cwd=folder)
    assert "source greeting: Greeting files, line by line." in shown
    assert "greeting.upper" in shown
    assert "greeting.line" in shown
    checked = harvest_here("plugins", "check", "greeting.py", "--sample", "hello.txt", cwd=folder)
    assert "every unit read becomes a row or a reject" in checked.stdout
    assert checked.returncode == 1  # bytes that are not UTF-8 end it


def test_watching_and_scheduling(folder):
    options = ("-s", "greeting.py:hello.txt", "-k", "parquet:out")
    watched = good("watch", *options, "--runs", "1", "--every", "0.1", "--settle", "0", cwd=folder)
    assert "1 part, 2 rows, 0 rejects" in watched
    assert "=greeting.py:hello.txt" in good("schedule", *options, "--every", "1h", cwd=folder)


def test_a_file_that_is_named_takes_part_in_looking(folder):
    detecting = GREETING + (
        "    @classmethod\n    def detect(cls, path):\n"
        "        return harvest.Detection(0.9, 'a greeting') if path.suffix == '.txt' else None\n"
    )
    (folder / "greeting.py").write_text(detecting)
    (folder / "in").mkdir()
    (folder / "hello.txt").rename(folder / "in" / "hello.txt")

    look = ("--plugin", "greeting.py", "look", "in")
    assert "-s greeting.py:greeting:in" in good(*look, cwd=folder)
    assert account("-s", "greeting.py:greeting:in", "-k", "parquet:out", cwd=folder) == [1, 0]
    (folder / "greeting.py").write_text(detecting.replace("return ", "return True or "))
    assert "'greeting' gives True, no Detection" in harvest_here(*look, cwd=folder).stderr


def test_views_of_a_file(folder):
    (folder / "greeting.py").write_text(GREETING + VIEW)
    good("run", "-s", "greeting.py:hello.txt", "-k", "parquet:out", cwd=folder)

    for asked in (
        ("--plugin", "greeting.py", "view", "greeting.count", "out"),
        ("view", "greeting.py:greeting.count", "out"),
    ):
        assert json.loads(good(*asked, "--json", cwd=folder))["lines"] == 2


@pytest.mark.slow
def test_a_dataset_says_which_file_wrote_it_and_does_not_execute_it(folder):
    good("run", "-s", "greeting.py:hello.txt", "-k", "parquet:out", cwd=folder)
    for file in (folder / "out" / "greeting.line").iterdir():
        file.unlink()
    registered.loaded.clear()

    asked = harvest_here("query", "out", "select * from greeting.line", cwd=folder)
    assert asked.returncode == 2
    assert "harvest --plugin greeting.py" in asked.stderr

    repair = harvest_here("verify", "out", "--repair", cwd=folder)
    assert repair.returncode == 1
    assert f"harvest --plugin {folder / 'greeting.py'} ..." in repair.stderr
    good("--plugin", "greeting.py", "verify", "out", "--repair", cwd=folder)
    assert texts(folder) == ["good", "morning"]


def test_a_file_that_nobody_named_is_never_executed(folder):
    (folder / "evil.py").write_text(f"open({str(folder / 'executed')!r}, 'w')")

    for words in ("look .", "detect evil.py", "run -s evil.py -k parquet:o"):
        harvest_here(*words.split(), cwd=folder)

    assert not (folder / "executed").exists()


BAD = {
    "missing": (None, "the file of a plugin cannot be read: No such file or directory"),
    "syntax": ("import harvest\n\ndef f(:\n", "greeting.py:3: invalid syntax: def f(:"),
    "raises": ("x = 1\ny = x / 0\n", "greeting.py:2: ZeroDivisionError: division by zero"),
    "exits": ("import sys\nsys.exit(3)\n", "greeting.py:2: PluginExit: SystemExit(3)"),
    "sibling": ("import beside\n", "a plugin file cannot import its neighbours"),
    "no source": ("x = 1\n", "greeting.py: it declares no source; define one"),
    "unfinished": (
        GREETING.replace("def read", "def raed"),
        "it declares no source (GreetingSource lacks read)",
    ),
    "no name": (
        GREETING.replace('name, record_types, Config = "greeting", (Line,), Config', "x = 1"),
        'greeting.py:14: GreetingSource has no name; write name = "greeting" in it',
    ),
    "no record": (
        GREETING.replace('@harvest.record("greeting.line", layer="workflow", level="client")', ""),
        "greeting.py:5: source 'greeting': Line is not a record class; decorate a subclass",
    ),
    "no types": (GREETING.replace("record_types, Config =", "kinds, Config ="), "no tuple of rec"),
    "wants more": (
        GREETING.replace("    def read", "    def __init__(self, a, b, c): pass\n    def read"),
        "cannot be made of a location and its settings: missing a required argument: 'c'",
    ),
    "clash": (
        GREETING.replace('"greeting", (', '"slurm", ('),
        "source 'slurm' is already declared by plugin 'slurm' (hpc-harvest-slurm); give it "
        "another name, or set HARVEST_DISABLE_PLUGINS=slurm",
    ),
    "no plan": (GREETING + "    def plan(self): return ['a']\n", "gives 'a', no Partition; rep"),
    "no place": (GREETING + "    " * 3 + "ctx.reject('', '', position=.5)", "not position=0.5,"),
    "no such class": (GREETING, "it has no source 'Greting'; write greeting.py:GreetingSource:L"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_a_file_is_said_with_its_line(folder, case):
    content, expected = BAD[case]
    (folder / "beside.py").write_text("x = 1")
    (folder / "greeting.py").unlink()
    if content is not None:
        (folder / "greeting.py").write_text(content)
    source = "greeting.py:" + ("Greting:hello.txt" if case == "no such class" else "hello.txt")

    done = harvest_here("run", "-s", source, "-k", "parquet:out", cwd=folder)

    assert done.returncode in (1, 2)
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr


def test_a_file_named_as_an_installed_plugin_is_refused(folder):
    (folder / "greeting.py").rename(folder / "slurm.py")
    done = harvest_here("run", "-s", "slurm.py:hello.txt", "-k", "parquet:out", cwd=folder)
    assert done.returncode == 1
    assert "a plugin 'slurm' is there already (hpc-harvest-slurm); give the file" in done.stderr


def test_what_stands_before_a_location(folder, monkeypatch):
    monkeypatch.chdir(folder)
    file = str(folder / "greeting.py")

    def meant(text: str) -> Endpoint:
        return endpoint_of(text, "source", manager())

    assert meant("slurm:x.py:y") == Endpoint("slurm", "x.py:y")
    assert meant("greeting.py") == Endpoint(None, "greeting.py")
    assert meant("greeting.py:a/b:c") == Endpoint(None, "a/b:c", file)
    assert meant("greeting.py:db://host:1/x") == Endpoint(None, "db://host:1/x", file)
    assert meant("greeting.py:Some:db://h") == Endpoint("Some", "db://h", file)
    (folder / "a:b").write_text("")
    assert meant("greeting.py:a:b") == Endpoint(None, "a:b", file)
    (folder / "greeting.py:x").write_text("")
    assert meant("greeting.py:x") == Endpoint(None, "greeting.py:x")


# --- from Python


def loaded(folder: Path) -> type[harvest.Source]:
    """The class, as an ordinary module of a program has it."""
    harvest.add_plugin(folder / "greeting.py")
    return manager().source("greeting")


def test_objects_in_python(folder, monkeypatch):
    from harvest_parquet.sink import ParquetSink

    cls = loaded(folder)
    source = cls(str(folder / "hello.txt"), cls.Config(upper=True))

    harvest.run(source, ParquetSink(str(folder / "out")))

    dataset = harvest.open(folder / "out")
    assert dataset["greeting.line"].collect()["text"].to_list() == ["GOOD", "MORNING"]
    assert dataset.harvested_with("greeting", "upper") == [True]
    again = harvest.run([source], [f"parquet:{folder / 'out'}"])
    assert again.run is None
    monkeypatch.chdir(folder)
    nearby = cls("hello.txt", cls.Config(upper=True))
    assert harvest.run(nearby, f"parquet:{folder / 'out'}").run is None  # the same file
    other = harvest.run(cls(str(folder / "hello.txt")), f"parquet:{folder / 'out'}")
    assert other.run is not None


def test_what_is_no_source_or_has_two_minds_is_refused(folder):
    cls = loaded(folder)
    place, out = str(folder / "hello.txt"), f"parquet:{folder / 'out'}"
    with pytest.raises(UsageError, match="the class GreetingSource is not a source; give NAME:LO"):
        harvest.run(cls, out)
    with pytest.raises(UsageError, match="is not a sink"):
        harvest.run(cls(place), cls(place))
    with pytest.raises(ConfigError, match="bring settings of their own"):
        harvest.run(cls(place), out, settings={"greeting": {"upper": "yes"}})
    with pytest.raises(ConfigError, match="bring settings of their own"):
        harvest.run([cls(place), cls(str(folder), cls.Config(upper=True))], out)


@pytest.mark.slow
def test_another_process_loads_the_very_same_file(folder):
    cls = loaded(folder)
    source = cls(str(folder / "hello.txt"), cls.Config(upper=True))

    ended = in_process(collect, source, scratch=folder)
    assert ended.result.rows("greeting.line")[0]["text"] == "GOOD"

    task = pickle.dumps(source)
    (folder / "greeting.py").write_text(GREETING + "# edited")
    with pytest.raises(HarvestError, match=r"greeting\.py: .* has changed since the run began"):
        pickle.loads(task)
    ended = in_process(collect, source, scratch=folder)
    assert "has changed since the run began" in ended.errors


PROGRAM = (
    GREETING
    + """
from harvest_parquet.sink import ParquetSink
for number in range(2):
    result = harvest.run(GreetingSource("in"), ParquetSink("out"))
    print(len(result.parts), harvest.open("out")["greeting.line"].collect().height)
try:
    harvest.run(GreetingSource("in"), ParquetSink("out"), force=True, OPTIONS)
except harvest.HarvestError as error:
    print(error)
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "options", "remedy"),
    [
        ("script", "workers=2", "give workers=1"),
        ("cell", "workers=2", "give workers=1"),
        ("script", "engine='dask'", "name that, as FILE.py:LOCATION"),
    ],
)
def test_a_class_of_the_program_itself_is_read_by_this_process_and_no_other(
    folder, how, options, remedy
):
    if "dask" in options:
        pytest.importorskip("distributed", reason="the package distributed is not installed")
    # given a program that defines a source, harvests by it twice, and then asks for workers
    (folder / "in").mkdir()
    for number in range(2):  # each file worth a worker
        (folder / "in" / f"{number}.txt").write_text(f"{'x' * (20 << 20)}\n")
    program = PROGRAM.replace("OPTIONS", options)
    (folder / "program.py").write_text(program)

    done = subprocess.run(
        [sys.executable, "program.py" if how == "script" else "-"],
        input="" if how == "script" else program,
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip

    # then of a script's file the version is known; nobody knows whether a cell is as it was
    *twice, said = done.stdout.splitlines()
    assert twice == ["2 2", "0 2" if how == "script" else "2 2"], done.stderr
    assert "'GreetingSource', which is defined in the program or notebook itself" in said
    assert remedy in said


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_workers_read_by_a_file(folder, engine):
    if engine == "dask":
        pytest.importorskip("distributed", reason="the package distributed is not installed")
    (folder / "in").mkdir()
    for number in range(2):
        (folder / "in" / f"{number}.txt").write_text("x" * (2 << 20))
    noting = GREETING.replace("else line", "else line[:1] + str(os.getpid())")
    (folder / "greeting.py").write_text("import os\n" + noting)

    with subprocess.Popen(
        [sys.executable, "-m", "harvest", "run", "-s", "./greeting.py:in", "-k", "parquet:out",
         "--workers", "2", "--engine", engine], cwd=folder, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        _, errors = program.communicate()

    assert program.returncode == 0, errors
    readers = {int(text[1:]) for text in texts(folder)}
    assert readers
    assert program.pid not in readers


def test_slurm_jobs_read_by_a_file(folder, on_slurm):
    on_slurm.run(
        "run", "-s", f"{folder / 'greeting.py'}:{folder / 'hello.txt'}",
        "-k", f"parquet:{folder / 'out'}", "--engine", "slurm",
        "-o", "slurm.memory=300M", "-o", "slurm.time=5",
    )  # fmt: skip
    assert texts(folder) == ["good", "morning"]
