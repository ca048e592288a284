"""No source takes an object or a list of its JSON for a value: its text is in no column.

Where a value is due, a list or an object is something that nobody foresaw; its text looks like a
value, is found by no query and changes what is concluded.  ``extra`` keeps what has no column of
its own, as JSON.
"""

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml
from night import NIGHT
from scalars import scalars_in

from harvest import HarvestError, collect
from harvest_testing import SourceConformance

ROOT = Path(__file__).resolve().parents[1]
PLANTED: dict[str, Any] = {
    "object": {"planted": 4711},
    "list": ["planted", 4711],
    "nested": [{"planted": [None]}],
}
TEXT_OF_ONE = re.compile(r"[\[{].*planted")
READ_JSON = ("mofka-dask", "ncem", "pbs", "slurm")
OWN_JSON = {
    "dask": "cluster dumps, which its test_dask_dump.py tries likewise",
    "gpfs": "what it wrote itself of a list that it split",
    "yappi": "what its own process wrote, which unpacks pstat files",
}
"""Sources of which no sample is JSON, and what they read."""

FREE = {"extra"}
"""Columns for what no other has."""


def samples() -> Iterator[Any]:
    """The samples of each of these sources, of its test of conformance."""
    for plugin in READ_JSON:
        file = ROOT / "plugins" / plugin / "tests" / "test_conformance.py"
        spec = importlib.util.spec_from_file_location(f"of_{plugin}", file)
        assert spec is not None
        assert spec.loader is not None
        sys.path.insert(0, str(file.parent))  # helpers beside the test
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, cls in vars(module).items():
            if (
                isinstance(cls, type)
                and issubclass(cls, SourceConformance)
                and "sample" in vars(cls)
            ):
                yield pytest.param(cls, id=f"{plugin}-{name}")


def test_the_list_is_whole() -> None:
    # given all plugins with a source, those whose code reads JSON or YAML are in one of the lists
    reading = re.compile(r"json\.loads?\(|read_ndjson|yaml\.\w*load|yaml\.parse")
    found = set()
    for plugin in (ROOT / "plugins").iterdir():
        code = "".join(path.read_text() for path in plugin.glob("src/**/*.py"))
        if "SourceSpec(" in code and reading.search(code):
            found.add(plugin.name)
    assert found == {*READ_JSON, *OWN_JSON}


def read_json(path: Path) -> Any:
    """What a file holds, if that is JSON or YAML with an object or a list; else None."""
    try:
        text = path.read_text()
        found = yaml.safe_load(text) if path.suffix in (".yaml", ".yml") else json.loads(text)
    except (ValueError, yaml.YAMLError):
        return None
    return found if isinstance(found, (dict, list)) else None


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts_in([*value, *value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_in(item)


def check_file(source: type, location: Path, file: Path, document: Any) -> int:
    """Put a planted value at each scalar's place and read it; gives how many were read."""
    tried = 0
    for (container, key), planted in zip(
        [*scalars_in(document)][:: 1 if NIGHT else 4], cycle(PLANTED.values()), strict=False
    ):
        before, container[key] = container[key], planted
        file.write_text(json.dumps(document))
        container[key] = before
        try:
            found = collect(source(str(location)))
        except HarvestError:
            continue  # it says that it cannot be read
        tried += 1
        for kind in found.tables:
            for row in found.rows(kind):
                held = {n: list(texts_in(v)) for n, v in row.items() if n not in FREE}
                wrong = {n: t for n, t in held.items() if any(map(TEXT_OF_ONE.search, t))}
                assert not wrong, f"{key!r} = {planted!r} became {wrong!r} of {kind}"
    return tried


@pytest.mark.slow
@pytest.mark.parametrize("case", list(samples()))
def test_no_text_of_a_container_is_a_value(case: type[Any], tmp_path: Path) -> None:
    # given a sample, and each of its files that are JSON
    location = case().make(tmp_path)
    files = sorted(location.rglob("*")) if location.is_dir() else [location]
    documents = {file: found for file in files if file.is_file() and (found := read_json(file))}
    if not documents:
        pytest.skip("its sample holds no JSON")
    # then an object or a list in place of a value is a reject, or stands in extra alone
    for file, document in documents.items():
        kept = file.read_bytes()
        assert check_file(case.source, location, file, document)
        file.write_bytes(kept)
