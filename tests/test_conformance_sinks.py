"""The conformance kit for sinks: a sound one passes, and each defect breaks its own promise."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from harvest.testing import BrokenPromise, SinkConformance
from harvest.testing.sink.steps import Switch
from harvest.testing.source.runs import ArrowSink


class TestSoundSink(SinkConformance):
    """The kit's own sink keeps every promise."""

    sink = ArrowSink

    def read_natively(self, location, record_type):
        files = Path(location, record_type.name).glob("*.arrow")
        return pl.concat(map(pl.read_ipc, files))


class Wrapped:
    """A writer that does something of its own with each table."""

    def __init__(self, writer, change):
        self.writer, self.change = writer, change

    def __getattr__(self, name):
        return getattr(self.writer, name)

    def write(self, kind, table):
        self.writer.write(kind, self.change(table))


class Rounding(ArrowSink):
    def writer(self, staging, part):
        def rounded(table):
            index = table.schema.get_field_index("value")
            if index < 0 or table.schema.field(index).type != pa.float64():
                return table
            values = pc.fill_null(table["value"], 0.0)
            return table.set_column(index, "value", values)

        return Wrapped(super().writer(staging, part), rounded)


class Stamping(ArrowSink):
    def writer(self, staging, part):
        def stamped(table):
            return table.replace_schema_metadata({"written": secrets.token_hex(4)})

        return Wrapped(super().writer(staging, part), stamped)


class Overwriting(ArrowSink):
    """Calls a partition's file by its key alone, so that a new one takes the place of the old."""

    def place(self, record_type, part):
        return super().place(record_type, part.rsplit("-", 1)[0] + "-" + "0" * 12)

    def publish(self, publication):
        for key, directory in publication.staged.items():
            for file in publication.parts[key]:
                (self.root / file.path).parent.mkdir(exist_ok=True)
                (directory / file.path).replace(self.root / file.path)
        return publication.parts


class Unmindful(ArrowSink):
    """Removes nothing."""

    def finish(self, publication):
        pass


class Clumsy(ArrowSink):
    """Removes the old files before the new manifest is in force."""

    def publish(self, publication):
        self.finish(publication)
        return super().publish(publication)


class Careless(ArrowSink):
    """Takes a failure to write for the end of the rows."""

    def writer(self, staging, part):
        writer = super().writer(staging, part)

        class Quiet(Wrapped):
            def write(self, kind, table):
                with contextlib.suppress(OSError):
                    writer.write(kind, table)

            def close(self):
                with contextlib.suppress(OSError):
                    return writer.close()
                return []

        return Quiet(writer, None)


class Trusting(ArrowSink):
    """Follows whatever path a manifest names."""

    def _within(self, base, path):
        return base / path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sink", "test", "seen"),
    [
        (Stamping, "test_equal_rows_give_equal_bytes", "staged conformance.text"),
        (Overwriting, "test_readers_see_old_or_new", "before"),
        (Clumsy, "test_readers_see_old_or_new", "reading conformance.line raises"),
        (Clumsy, "test_commits_can_be_given_up", "before the manifest is renamed"),
        (Careless, "test_a_full_disk_is_told", "are not those that were written"),
        (Trusting, "test_paths_lead_nowhere", "another dataset"),
        (Unmindful, "test_killed_commits_resume", "and run again"),
    ],
)
def test_a_defect_breaks_its_promise(sink, test, seen, tmp_path):
    kit = type("Kit", (SinkConformance,), {"sink": sink})()
    with pytest.raises(BrokenPromise) as raised:
        getattr(kit, test)(tmp_path)
    assert seen in raised.value.seen
    assert raised.value.promise
    assert raised.value.remedy


def test_values_that_do_not_come_back_are_named(tmp_path):
    kit = type("Kit", (SinkConformance,), {"sink": Rounding})()
    kit.test_rows_come_back(tmp_path / "text", "text")
    with pytest.raises(BrokenPromise, match=r"the rows of conformance\.number"):
        kit.test_rows_come_back(tmp_path / "number", "number")


def test_a_switch_tells_of_each_step_before_it_is_taken(tmp_path):
    path, seen = tmp_path / "file", []

    def before(number, step):
        seen.append((number, step.split()[0], sorted(p.name for p in tmp_path.iterdir())))

    with Switch(before).armed():
        path.write_text("text")
        path.read_text()  # reading is no step
        path.rename(tmp_path / "other")
    (tmp_path / "other").unlink()  # nor is what comes after

    assert seen == [(1, "open", []), (2, "os.rename", ["file"])]
