"""The conformance kit for exporters: a sound one passes, and each defect breaks its own promise."""

from __future__ import annotations

import contextlib
import json
import os
import unittest
from pathlib import Path
from typing import ClassVar

import pytest

import harvest
from harvest import ExporterSpec, Record, Setting, Source, field
from harvest.plugins import plugins_of
from harvest.toolkit.files import replacing
from harvest_testing import BrokenPromise, ExporterConformance
from harvest_testing.kits import ArrowSink


@harvest.record("kit.exported", layer="workflow", level="client")
class Exported(Record):
    """One line."""

    text: str = field(role="subject", doc="The line.")


class ExportedSource(Source):
    """Lines of text."""

    name: ClassVar[str] = "kit-exported"
    record_types = (Exported,)

    def read(self, partition, ctx):
        for number, line in enumerate(partition.path.read_text().splitlines(), 1):
            yield Exported(text=line, position=number)


def lines_of(dataset):
    frame = dataset["kit.exported"].sort("origin", "position").collect()
    return [json.dumps(text) for text in frame["text"]]


def sound(dataset, target, *, upper=False):
    """Write the texts, one a line."""
    lines = lines_of(dataset)
    with replacing(Path(target)) as temporary:
        temporary.write_text("".join(f"{x.upper() if upper else x}\n" for x in lines))
    return [target]


def names_another(dataset, target, *, upper=False):
    sound(dataset, target, upper=upper)
    return [f"{target}.json"]


def names_nothing(dataset, target, *, upper=False):
    sound(dataset, target, upper=upper)
    return []


def in_place(dataset, target, *, upper=False):
    lines = [x.upper() if upper else x for x in lines_of(dataset)]
    for number, line in enumerate(lines):
        with Path(target).open("a" if number else "w") as file:
            file.write(f"{line}\n")
    return [target]


def loses_one(dataset, target, *, upper=False):
    sound(dataset, target, upper=upper)
    Path(target).write_text("".join(Path(target).read_text().splitlines(keepends=True)[1:]))
    return [target]


def takes_the_first(dataset, target, *, upper=False):
    if not lines_of(dataset)[0]:
        return []
    return sound(dataset, target, upper=upper)


def ignores(dataset, target, *, upper=False):
    return sound(dataset, target)


def changes_the_dataset(dataset, target, *, upper=False):
    (dataset.sink.root / "exported").touch()
    return sound(dataset, target, upper=upper)


def leaves_a_copy(dataset, target, *, upper=False):
    Path("copy.txt").write_text("left")
    return sound(dataset, target, upper=upper)


def tells_the_place(dataset, target, *, upper=False):
    with replacing(Path(target)) as temporary:
        temporary.write_text(f"{os.fspath(target)}\n")
    return [target]


def clears_the_target(dataset, target, *, upper=False):
    if Path(target).is_dir():
        for path in Path(target).iterdir():
            path.unlink()
        Path(target).rmdir()
    return sound(dataset, target, upper=upper)


def leaves_the_end_of_what_was_there(dataset, target, *, upper=False):
    before = Path(target).read_text() if Path(target).is_file() else ""
    sound(dataset, target, upper=upper)
    with Path(target).open("a") as file:
        file.write(before[Path(target).stat().st_size :])
    return [target]


def swallows(dataset, target, *, upper=False):
    with contextlib.suppress(OSError):
        sound(dataset, target, upper=upper)
    return [target]


def prints(dataset, target, *, upper=False):
    print(target)
    return sound(dataset, target, upper=upper)


def keeps_to_itself(dataset, target, *, upper=False):
    sound(dataset, target, upper=upper)
    Path(target).chmod(0o600)
    return [target]


def compares_counts(dataset, target, *, upper=False):
    path = Path(target)
    if path.is_file() and len(path.read_text().splitlines()) == len(lines_of(dataset)):
        return [target]
    return sound(dataset, target, upper=upper)


def writes_lines_as_they_are(dataset, target, *, upper=False):
    with replacing(Path(target)) as temporary:
        for line in lines_of(dataset):
            with temporary.open("a") as file:
                file.write(f"{json.loads(line)}\n")
    return [target]


def writes_null_as_none(dataset, target, *, upper=False):
    lines = [json.dumps(str(json.loads(line))) for line in lines_of(dataset)]
    with replacing(Path(target)) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines))
    return [target]


def writes_equal_rows_once(dataset, target, *, upper=False):
    with replacing(Path(target)) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines_of(dataset))))
    return [target]


class ExporterKit(ExporterConformance):
    """Lines of one or two files, written by the exporter under test."""

    exporter = "kit"
    examples: ClassVar = {"upper": True}

    def __init__(self, write=sound):
        self.function = write

    def dataset(self, directory, inputs):
        for number in range(inputs):
            (directory / f"{number}.txt").write_text("good\nmorning\n" * (number + 1))
        settings = {"upper": Setting("Letters in capitals.", type=bool, default=False)}
        spec = ExporterSpec(name="kit", doc="Lines.", write=self.function, settings=settings)
        plugins = plugins_of(ExportedSource, ArrowSink, _Declared(spec))
        harvest.run(
            f"kit-exported:{directory}", f"conformance:{directory / 'out'}",
            workers=1, plugins=plugins,
        )  # fmt: skip
        return harvest.open(directory / "out", plugins=plugins)

    def rows_of(self, target, record_type):
        return len(target.read_text().splitlines())


class _Declared:
    harvest_api = 1

    def __init__(self, spec):
        self.spec = spec

    @harvest.hookimpl
    def harvest_exporters(self):
        return [self.spec]


TESTS = sorted(name for name in dir(ExporterKit) if name.startswith("test_"))


@pytest.mark.parametrize("test", TESTS)
def test_a_sound_exporter_keeps_all_promises(test, tmp_path):
    try:
        getattr(ExporterKit(), test)(tmp_path)
    except unittest.SkipTest as reason:
        pytest.fail(f"it is not tried: {reason}")


@pytest.mark.parametrize(
    ("write", "test"),
    [
        (names_another, "test_it_names_what_it_writes"),
        (names_nothing, "test_it_names_what_it_writes"),
        (leaves_a_copy, "test_it_names_what_it_writes"),
        (in_place, "test_a_kill_leaves_old_or_nothing"),
        (in_place, "test_no_failure_is_swallowed"),
        (leaves_the_end_of_what_was_there, "test_what_is_there_is_whole"),
        (swallows, "test_no_failure_is_swallowed"),
        (prints, "test_the_dataset_is_left_as_it_is"),
        (keeps_to_itself, "test_it_names_what_it_writes"),
        (compares_counts, "test_what_is_there_is_whole"),
        (writes_lines_as_they_are, "test_all_rows_are_written"),
        (writes_null_as_none, "test_values_stay_apart"),
        (writes_equal_rows_once, "test_all_rows_are_written"),
        (loses_one, "test_all_rows_are_written"),
        (takes_the_first, "test_little_is_written"),
        (ignores, "test_settings_have_an_effect"),
        (changes_the_dataset, "test_the_dataset_is_left_as_it_is"),
        (tells_the_place, "test_it_is_repeatable"),
        (clears_the_target, "test_what_others_wrote_is_kept"),
    ],
)
def test_a_defect_breaks_its_promise(write, test, tmp_path):
    with pytest.raises(BrokenPromise) as broken:
        getattr(ExporterKit(write), test)(tmp_path)
    assert broken.value.promise
    assert broken.value.remedy
