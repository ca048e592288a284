"""What reads a dataset's files opens them by ``harvest.toolkit.plain`` alone."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READERS = (
    "src/harvest/storage", "src/harvest/dataset", "src/harvest/pipeline",
    "src/harvest/api/directory_sink.py", "plugins/parquet/src", "plugins/jsonl/src",
    "plugins/exports/src/harvest_exports/crate.py",
)  # fmt: skip
READS = {"open", "read_bytes", "read_text", "read_table", "memory_map", "file_digest"}
OTHERS = {
    "src/harvest/storage/fingerprint.py": "inputs, which may be anything",
    "src/harvest/storage/lock.py": "the lock, and a name from /proc",
}
"""Modules that open other files, or open them otherwise, and what these are."""

NO_PATH = ("open_plain(", "(descriptor", "BufferReader(", "plugins=plugins")
"""Marks of calls that open what is open or in memory already, or a dataset."""


def opened(text: str) -> list[str]:
    """The calls in a module that open a file to be read."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        name = called.rpartition(".")[2]
        words = [each.value for each in node.args if isinstance(each, ast.Constant)]
        writes = any(isinstance(word, str) and set(word) & set("wax") for word in words)
        if name not in READS or writes:
            continue
        if called == "Segment.open" or any(mark in ast.unparse(node) for mark in NO_PATH):
            continue
        found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def modules() -> list[Path]:
    found = [ROOT / place for place in READERS]
    return [
        path for place in found for path in ([place] if place.is_file() else place.rglob("*.py"))
    ]


@pytest.mark.parametrize("path", [path.relative_to(ROOT).as_posix() for path in modules()])
def test_no_module_opens_a_file_of_a_dataset_itself(path: str) -> None:
    if path not in OTHERS:
        assert opened((ROOT / path).read_text()) == []
