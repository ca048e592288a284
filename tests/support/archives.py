"""Trees of text files, and sources that read them in several ways."""

from pathlib import Path

import polars as pl

import harvest
from harvest.pipeline.prepare import prepare_sources
from harvest.plugins.registry import PluginManager
from harvest.recipes.recipe import Endpoint, Recipe

LINE = """
from pathlib import Path

import pyarrow as pa

import harvest
from harvest.toolkit.files import input_path, walk_files


@harvest.record("tree.line", layer="job", level="job")
class Line(harvest.Record):
    text: str


"""
TREE = (
    LINE
    + '''
class TreeSource(harvest.Source):
    """Text files of a tree, a row a line."""

    name, record_types = "tree", (Line,)

    def plan(self):
        found = walk_files(input_path(self.location))
        return self.of(file for _, files in found for file in files)

    def of(self, files):
        top = input_path(self.location)
        return [harvest.file_partition(f, id=f.relative_to(top).as_posix()) for f in files]

    def plan_files(self, files):
        return self.of(files)

    def read(self, partition, ctx):
        for text in partition.path.read_text().splitlines():
            ctx.read(1)
            yield Line(text=text)
'''
)
BY_FILES = "    def plan_files(self, files):\n        return self.of(files)\n"
RANGES = (
    LINE
    + '''
from harvest_toolkit.line_source import LineSource


class TreeSource(LineSource):
    """Text files of a directory, in ranges."""

    name, record_types = "tree", (Line,)

    def read(self, partition, ctx):
        for lines in self.lines(partition, ctx):
            yield Line, pa.table({"text": lines.column(), "position": lines.numbers})
'''
)
FOLDERS = (
    TREE.replace(BY_FILES, "")
    .replace(" def plan(", " def files(")
    .replace(" def read(", " def row(")
    + """
    def plan(self):
        found = {}
        for partition in self.files():
            found.setdefault(str(partition.path.parent), []).append(partition.origin)
        for folder, files in found.items():
            yield harvest.Partition(id=folder, origin=folder, inputs=tuple(files))

    def read(self, partition, ctx):
        for file in partition.inputs:
            for text in Path(file).read_text().splitlines():
                ctx.read(1)
                yield Line(text=text)
"""
)
OF_FILES = """
    def plan_files(self, files):
        folders = {str(file.parent) for file in files}
        return [partition for partition in self.plan() if partition.id in folders]
"""
ONE_ORIGIN = (
    TREE.replace(BY_FILES, "")
    .replace("def plan(", "def files(")
    .replace("partition.path.read_text()", "Path(partition.inputs[0]).read_text()")
    + """
    def plan(self):
        for file in self.files():
            folder = str(file.path.parent)
            yield harvest.Partition(id=file.id, origin=folder, inputs=file.inputs)
"""
)
PLANS = {
    "by files": TREE,
    "as a whole": TREE.replace(BY_FILES, ""),
    "by directory": FOLDERS,
    "by directory of files": FOLDERS + OF_FILES,
    "by ranges": RANGES,
    "by files of one origin": ONE_ORIGIN,
}
BY_FILE = ["by files", "as a whole"]


class Archive:
    """A tree of text files, a source that reads it, and a dataset."""

    def __init__(self, folder, plan="by files"):
        self.folder = folder
        self.logs, self.out = folder / "logs", folder / "out"
        self.plugin = folder / "tree_source.py"
        self.plugin.write_text(PLANS[plan])
        self.plugins = PluginManager(disabled="", preferred="")
        self.logs.mkdir()

    def write(self, **texts):
        """Files by their path, with __ for a slash."""
        for name, text in texts.items():
            self.put(name.lstrip("_").replace("__", "/"), text)
        return self

    def put(self, name, text):
        path = self.logs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def run(self, out="out", **options):
        sink = f"parquet:{self.folder / out}"
        return harvest.run(
            f"{self.plugin}:{self.logs}", sink, workers=1, plugins=self.plugins, **options
        )

    def uses(self, location=None):
        recipe = Recipe(sources=(Endpoint(None, str(location or self.logs), str(self.plugin)),))
        return prepare_sources(recipe, self.plugins)

    def list(self, *names, end="\n"):
        """A list of changed files."""
        path = self.folder / "changed"
        path.write_text("".join(f"{self.logs / name}{end}" for name in names))
        return str(path)

    def texts(self, out="out"):
        rows = pl.read_parquet(self.folder / out / "tree.line" / "*.parquet")
        rows = rows.select("origin", "text")
        return {
            (str(Path(origin).relative_to(self.logs)), text) for origin, text in rows.iter_rows()
        }
