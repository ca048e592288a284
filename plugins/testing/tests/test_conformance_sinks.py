"""The conformance kit for sinks: a sound one passes; bugs are in test_planted_sink_bugs."""

from __future__ import annotations

import unittest
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from harvest import UsageError
from harvest.toolkit.files import fsync_directory, fsync_file
from harvest_testing import BrokenPromise, SinkConformance
from harvest_testing.kits import ArrowSink, Switch
from harvest_testing.sinks.flushes import Flushes
from harvest_testing.sinks.traced import unflushed
from harvest_testing.sinks.values import KINDS


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


class Narrow(ArrowSink):
    """Leaves out the values of columns that it cannot hold."""

    def writer(self, staging, part):
        def narrowed(table):
            index = table.schema.get_field_index("value")
            if index < 0 or table.schema.field(index).type != pa.binary():
                return table
            field = table.schema.field(index)
            return table.set_column(index, field, pa.nulls(len(table), field.type))

        return Wrapped(super().writer(staging, part), narrowed)


class Refusing(ArrowSink):
    """Refuses columns that it cannot hold."""

    def writer(self, staging, part):
        def checked(table):
            if pa.binary() in table.schema.types:
                raise UsageError("this format holds no bytes")
            return table

        return Wrapped(super().writer(staging, part), checked)


class Unmindful(ArrowSink):
    """Removes nothing."""

    def finish(self, publication):
        pass


def kit_of(sink, **knobs):
    return type("Kit", (SinkConformance,), {"sink": sink, **knobs})()


@pytest.mark.slow
def test_a_broken_promise_says_what_was_promised_and_what_to_do(tmp_path):
    with pytest.raises(BrokenPromise) as raised:
        kit_of(Unmindful).test_killed_commits_resume(tmp_path)
    assert "and run again" in raised.value.seen
    assert raised.value.promise.startswith("killed at any step")
    assert raised.value.remedy


def test_kinds_that_a_format_cannot_hold_are_refused_and_not_left_out(tmp_path):
    kinds = tuple(kind for kind in KINDS if kind != "bytes")

    kit_of(Refusing, kinds=kinds).test_kinds_it_cannot_hold_are_refused(tmp_path / "sound")
    with pytest.raises(BrokenPromise, match=r"the rows of conformance\.bytes"):
        kit_of(Narrow, kinds=kinds).test_kinds_it_cannot_hold_are_refused(tmp_path / "narrow")


def test_without_a_native_reader_the_kit_says_how_to_define_one(tmp_path):
    with pytest.raises(
        unittest.SkipTest, match=r"must define read_natively\(self, location, record"
    ):
        kit_of(ArrowSink).test_native_readers_find_what_is_committed(tmp_path)


def test_what_is_written_after_a_flush_is_at_risk(tmp_path):
    (tmp_path / "staging").mkdir()
    for name in ("before", "appended", "sound"):
        (tmp_path / name).write_text("text")
    flushes = Flushes(tmp_path, but=tmp_path / "staging")

    with flushes.watched():
        for name in ("appended", "sound", "not flushed"):
            (tmp_path / name).write_text("other text")
        for name in ("appended", "sound"):
            fsync_file(tmp_path / name)
        with (tmp_path / "appended").open("a") as file:
            file.write("more")
        fsync_directory(tmp_path)
        (tmp_path / "sound").rename(tmp_path / "renamed")

    assert flushes.at_risk() == (
        [
            f"the name 'renamed' in {tmp_path}",
            f"the content of {tmp_path / 'appended'}",
            f"the content of {tmp_path / 'not flushed'}",
        ],
        [],
    )


def test_what_a_library_writes_is_unheard_until_python_flushes_it(tmp_path):
    flushes = Flushes(tmp_path, but=tmp_path / "staging")
    with flushes.watched():
        for name in ("unheard", "flushed"):
            with pa.OSFile(str(tmp_path / name), "wb") as file:
                file.write(b"text")
        fsync_file(tmp_path / "flushed")
        fsync_directory(tmp_path)

    assert flushes.at_risk() == ([], [str(tmp_path / "unheard")])


def test_a_trace_says_what_is_not_flushed_when_a_mark_is_made():
    log = """\
11 write(5</d/flushed>, "text"..., 4) = 4
11 write(6</d/first name>, "text"..., 4) = 4
11 sendfile(7</d/copy>, 3</d/source>, NULL, 9) = 9
12 pwrite64(8</d/late>, "text"..., 4, 0 <unfinished ...>
11 fsync(5</d/flushed>)              = 0
11 fdatasync(8</d/late>)             = 0
12 <... pwrite64 resumed>)           = 4
12 pwrite64(8</d/late>, "text"..., 4, 4) = 4
11 rename("/d/first name", "/d/second name") = 0
11 unlink("/d/source")               = 0
11 mkdir("/marks/0", 0777)           = 0
11 write(9</d/after>, "text"..., 4)  = 4
"""
    found = unflushed(log.splitlines(), Path("/marks/0"))

    assert found == {"/d/second name", "/d/copy", "/d/late"}


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
