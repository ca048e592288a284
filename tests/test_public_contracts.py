"""What tests and programs of strangers make by public names: sources, tables, plugins by class."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from harvest_demo import DemoSource, Line

import harvest
from harvest_testing.source.reading import ArrowSink


@attrs.frozen(kw_only=True)
class Repeated:
    """Settings of ``Greeting``."""

    times: int = attrs.field(default=1, metadata={"doc": "how often each word is said"})


class Greeting(harvest.Source):
    """Two words, as an instance and as Arrow data."""

    name, record_types, Config = "greeting", (Line,), Repeated

    def read(self, partition: harvest.Partition, ctx: harvest.ReadContext) -> Iterator[Any]:
        for _ in range(self.config.times):
            yield Line(text="good")
            yield Line, pa.table({"text": ["morning", "night", "bye"]})


def test_settings_are_checked_and_converted_as_of_a_run():
    assert Greeting.configured("hello.txt", times="3").config == Repeated(times=3)
    assert Greeting.configured(Path("hello.txt")).location == "hello.txt"
    with pytest.raises(harvest.ConfigError, match=r"greeting\.times: 'often' does not fit"):
        Greeting.configured("hello.txt", times="often")
    with pytest.raises(harvest.ConfigError, match="'greeting' has no setting 'often'"):
        Greeting.configured("hello.txt", often=3)
    with pytest.raises(harvest.ConfigError, match="'conformance' has no setting 'level'"):
        ArrowSink.configured("out", level=3)


@pytest.mark.parametrize(("batch_rows", "rows"), [(None, [1, 3, 1, 3]), (2, [1, 2, 1, 1, 2, 1])])
def test_tables_are_those_that_a_run_takes(tmp_path, batch_rows, rows):
    source = Greeting.configured("/hello.txt", times=2)
    partition = harvest.file_partition("/hello.txt", id="hello")
    ctx = harvest.ReadContext("/hello.txt", tmp_path)

    found = list(harvest.tables(source, partition, ctx, batch_rows=batch_rows))

    kind = harvest.record_type(Line)
    assert [table.num_rows for _, table in found] == rows
    assert all(of == kind and table.schema == kind.arrow_schema for of, table in found)
    whole = pa.concat_tables(table for _, table in found)
    assert whole["position"].to_pylist() == list(range(1, 9))
    assert set(whole["origin"].to_pylist()) == {"/hello.txt"}


def test_plugins_of_classes_are_these_and_the_core_alone(tmp_path):
    (tmp_path / "a.demo").write_text("good\nmorning\n")
    plugins = harvest.plugins_of(DemoSource, ArrowSink)

    harvest.run(
        f"demo:{tmp_path / 'a.demo'}", f"conformance:{tmp_path / 'out'}", plugins=plugins, workers=1
    )

    rows = harvest.open(tmp_path / "out", plugins=plugins)["demo.line"].collect()
    assert rows["text"].to_list() == ["good", "morning"]
    assert (list(plugins.sources), list(plugins.sinks)) == (["demo"], ["conformance"])
    with pytest.raises(harvest.UsageError, match="unknown sink 'parquet'"):
        plugins.sink("parquet")
