"""Two runs compared: what differs is said, by how much, and nothing else is."""

import functools
from pathlib import Path
from typing import Any, ClassVar

import pytest
from compared_runs import DURATIONS, WORKERS, harvested, slowed, write
from reporting import page_of

import harvest
from harvest_dask_runs.compare.sides import sides_of
from harvest_testing import ReportConformance, ViewConformance, faults_of_columns


@functools.cache
def numbers(dataset, **settings):
    """Rows of the view by part, name and measure; of the same dataset they are asked for once."""
    rows = dataset.view("dask.compare", **settings).collect().to_dicts()
    return {(row["part"], row["name"], row["measure"]): row for row in rows}


@functools.cache
def report_of(dataset, **settings):
    """The report; of the same dataset it is asked for once."""
    return page_of(dataset, "dask.compare", **settings)


def table(report, name):
    (found,) = report.only(name).tables
    return found.rows.to_dicts()


# ---- a run and itself ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    write(folder / "R1")
    return harvested(folder)


@pytest.mark.slow
def test_a_run_and_itself_do_not_differ(same):
    assert numbers(same, runs=("R1", "R1")) == {}

    report = report_of(same, runs=("R1", "R1"))

    assert report.intro[0].startswith("Nothing differs: ")
    assert (report.plots, [t.rows.height for t in report.tables]) == ([], [0])


def test_what_is_equal_is_there_for_those_who_ask(same):
    rows = numbers(same, runs=("R1", "R1"), equal=True)

    assert {row["difference"] for row in rows.values()} == {0.0}
    assert rows["prefix", "load", "total_s"]["before"] == pytest.approx(sum(DURATIONS["load"]))
    assert rows["run", "all", "executions"]["after"] == sum(map(len, DURATIONS.values()))


# ---- one kind of tasks twice as slow -------------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.slow) for kind in ("sum", "load", "save")],
)
def slower(request, tmp_path_factory):
    """A kind of tasks, and a dataset of two runs in the second of which it is twice as slow."""
    folder = tmp_path_factory.mktemp("slower")
    write(folder / "R1", moved=1_000_000)
    write(folder / "R2", slowed(request.param), since=60.0, moved=1_000_001)
    return request.param, harvested(folder)


def test_the_kind_that_was_made_twice_as_slow_is_named_first(slower):
    prefix, dataset = slower

    report = report_of(dataset)

    # in the verdict, before any other
    named = [word for word in report.intro[0].replace(":", " ").split() if word in DURATIONS]
    assert named == [prefix]
    assert "each 2.00 times as long" in report.intro[0]
    # and in the table, whose differences are of it alone
    first, *rest = table(report, "kinds")
    longer = sum(DURATIONS[prefix])
    assert first["name"] == prefix
    assert (first["executions_before"], first["executions_after"]) == (len(DURATIONS[prefix]),) * 2
    assert first["difference"] == pytest.approx(longer)
    cause = table(report, "causes")[0]
    assert (cause["by_count"], cause["by_duration"]) == pytest.approx((0, longer), abs=1e-9)
    assert [row["name"] for row in rest] == ["(2 equal)", "in all"]
    assert rest[-1]["difference"] == pytest.approx(longer)


def test_its_durations_are_compared_pair_by_pair(slower):
    prefix, dataset = slower
    before, after = DURATIONS[prefix], slowed(prefix)[prefix]
    pairs = [(b, a) for b in before for a in after]
    longer = sum((a > b) + (a == b) / 2 for b, a in pairs) / len(pairs)

    rows = numbers(dataset, equal=True)

    assert rows["prefix", prefix, "mean_s"]["ratio"] == pytest.approx(2.0)
    assert rows["prefix", prefix, "mean_s"]["pairs_share"] == pytest.approx(longer)
    times = {name: rows["prefix", name, "total_s"]["difference"] for name in DURATIONS}
    assert [name for name, difference in times.items() if difference] == [prefix]
    # what reads the same on both sides is no difference to name
    assert rows["run", "all", "moved_bytes"]["difference"] == 1
    assert not any("bytes transferred" in text for text in report_of(dataset).intro)


def test_phases_and_workers_add_up_to_the_run(slower):
    _, dataset = slower
    rows = numbers(dataset, equal=True)
    for side in ("before", "after"):
        wall = rows["run", "all", "wall_s"][side]
        assert sum(r[side] for (p, *_), r in rows.items() if p == "phase") == pytest.approx(wall)
        span = rows["run", "all", "span_s"][side]
        assert sum(r[side] for (p, *_), r in rows.items() if p == "path") == pytest.approx(span)
        # each worker goes by its address, for both runs have the same
        busy = [rows["worker", worker, "busy_s"][side] for worker in WORKERS]
        assert sum(busy) == pytest.approx(rows["run", "all", "busy_s"][side])


# ---- what is new, gone, failed, or not known -----------------------------------------------------


@pytest.fixture(scope="module", params=[pytest.param("changed", marks=pytest.mark.slow)])
def changed(tmp_path_factory):
    """The second run has another kind, lacks one, fails once, moves more, and has other workers."""
    folder = tmp_path_factory.mktemp("changed")
    write(folder / "R1")
    other = {"load": DURATIONS["load"], "sum": DURATIONS["sum"], "plot": (0.5, 0.25)}
    ports = [f"tcp://10.0.0.2:{port}" for port in (5001, 5002, 5003)]
    write(folder / "R2", other, failed=["sum-3"], workers=ports, since=60.0, moved=5_000)
    return harvested(folder)


def test_kinds_that_one_side_has_are_new_or_gone(changed):
    rows = numbers(changed)
    plot, save = rows["prefix", "plot", "total_s"], rows["prefix", "save", "total_s"]

    assert (plot["presence"], plot["before"], plot["after"]) == ("new", 0.0, 0.75)
    assert (save["presence"], save["before"], save["after"]) == ("gone", 0.375, 0.0)
    assert ("prefix", "plot", "mean_s") in rows
    assert rows["prefix", "plot", "mean_s"]["before"] is None  # of none, none has a duration
    intro = report_of(changed).intro
    assert {"New: plot.", "Gone: save."} <= set(intro)


def test_its_columns_are_as_declared(changed):
    assert faults_of_columns(changed, "dask.compare", [{"equal": True}]) == []


def test_their_time_is_a_matter_of_their_count(changed):
    rows = {row["name"]: row for row in table(report_of(changed), "causes")}

    assert (rows["plot"]["by_count"], rows["plot"]["by_duration"]) == (0.75, 0.0)
    assert (rows["save"]["by_count"], rows["save"]["by_duration"]) == (-0.375, 0.0)


def test_failures_and_bytes_are_named(changed):
    rows, report = numbers(changed), report_of(changed)

    assert rows["run", "all", "failed"]["difference"] == 1
    assert rows["prefix", "sum", "failed"]["after"] == 1
    assert rows["run", "all", "moved_bytes"]["difference"] == 4_000
    assert any(
        text.startswith("Failures: failed executions 1 instead of 0") for text in report.intro
    )
    assert str(report.tiles[2]).endswith(" % (observed threads: 3 instead of 2)")
    assert report.tiles[3].value == "+3.91 KiB"
    moved = "bytes transferred 4.88 KiB instead of 1,000 bytes"
    assert any(moved in text for text in report.intro)
    (other,) = (text for text in report.intro if text.startswith("Other conditions: "))
    assert "workers 3 instead of 2; threads 3 instead of 2" in other


def test_other_workers_are_compared_by_rank(changed):
    names = {name for part, name, _ in numbers(changed) if part == "worker"}

    assert names == {"no. 1 by time", "no. 2 by time", "no. 3 by time"}


def test_what_does_not_fit_the_table_is_one_row_of_it(changed):
    whole, short = (table(report_of(changed, top=top), "kinds") for top in (20, 1))

    assert [row["name"] for row in short] == [whole[0]["name"], "(1 more)", *(
        row["name"] for row in whole[-2:]
    )]  # fmt: skip
    for rows in (whole, short):
        parts = [row["difference"] for row in rows[:-1]]
        assert sum(parts) == pytest.approx(rows[-1]["difference"])


@pytest.mark.slow
def test_a_kind_that_a_silent_worker_may_have_had_is_not_new(tmp_path):
    # given a first run of which one worker recorded nothing, and nobody credits it with anything
    silent = "tcp://10.0.0.9:1"
    write(tmp_path / "R1", {"load": (1.0,)}, workers=(WORKERS[0], silent), silent=(silent,))
    write(tmp_path / "R2", {"load": (1.0,), "sum": (0.5,)}, since=60.0, moved=5_000)
    dataset = harvested(tmp_path)

    rows, report = numbers(dataset), report_of(dataset)

    # then what it may have executed is not known, and is not 0
    new = rows["prefix", "sum", "total_s"]
    assert (new["presence"], new["before"], new["difference"]) == ("not seen before", None, None)
    assert "Not seen before (the record has gaps): sum." in report.intro
    # and what workers report themselves is known in part
    assert rows["run", "all", "moved_bytes"]["sure"] == "in part"
    moved = "at least 4.88 KiB instead of at least 1,000 bytes"
    assert any(moved in text for text in report.intro)
    (lacks,) = (section for section in report.sections if section.name == "completeness")
    assert any("R1 (before): 1 of 2 registered workers" in item for item in lacks.items)


@pytest.mark.slow
def test_time_of_which_one_run_has_no_record_is_not_said_to_be_none(tmp_path):
    # given a second run without a record of transfers
    write(tmp_path / "R1")
    write(tmp_path / "R2", slowed("sum"), since=60.0, moved=None)
    dataset = harvested(tmp_path)

    rows = numbers(dataset, equal=True)

    # then how long its data moved is not known
    moving = rows["path", "moving", "elapsed_s"]
    assert (moving["before_runs"], moving["after"], moving["difference"]) == (1, None, None)
    # and what is known of it adds up to its span all the same
    known = sum(r["after"] or 0 for (part, *_), r in rows.items() if part == "path")
    assert known == pytest.approx(rows["run", "all", "span_s"]["after"])
    # and no sentence compares it
    assert not any("moving changed most" in text for text in report_of(dataset).intro)


@pytest.mark.slow
def test_of_a_record_that_was_cut_it_is_not_said_how_long_the_run_took(tmp_path):
    write(tmp_path / "R1", cut=True)
    write(tmp_path / "R2", since=60.0)
    dataset = harvested(tmp_path)

    report = report_of(dataset)

    assert report.intro[0].startswith("It is unknown whether R2 took longer than R1")
    assert {row["difference"] for row in table(report, "kinds")} == {None}
    assert "phases" not in {section.name for section in report.sections}
    (unknown,) = (section for section in report.sections if section.name == "one-sided")
    assert unknown.items[0].startswith("Known only after: span of executions, ")


# ---- several runs of each side -------------------------------------------------------------------


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Three runs, and three in which sums take longer by 50 %, none alike."""
    folder = tmp_path_factory.mktemp("several")
    for number in range(3):
        noise = 1 + number / 64
        write(folder / f"A{number}", {k: [s * noise for s in v] for k, v in DURATIONS.items()})
        later = {k: [s * noise for s in v] for k, v in slowed("sum", 1.5).items()}
        write(folder / f"B{number}", later, since=60.0)
    return harvested(folder)


@pytest.mark.slow
def test_several_runs_show_their_spread(several):
    rows = numbers(several, before=("A*",), after=("B*",))
    row, base = rows["prefix", "sum", "total_s"], sum(DURATIONS["sum"])

    assert (row["before_runs"], row["after_runs"]) == (3, 3)
    assert row["before"] == pytest.approx(base * 65 / 64)
    assert (row["before_low"], row["before_high"]) == pytest.approx((base, base * 66 / 64))
    assert row["difference"] == pytest.approx(base * 65 / 128)
    # of the 20 ways to part six runs into two threes, two are as far apart
    assert (row["sure"], row["chance_share"]) == ("runs apart", pytest.approx(2 / 20))
    # and the loads did not differ
    assert ("prefix", "load", "total_s") not in rows


@pytest.mark.slow
def test_the_verdict_of_several_runs_says_how_sure_it_is(several):
    report = report_of(several, before=("A*",), after=("B*",))

    assert report.title == "Dask runs compared: the 3 runs before and the 3 runs after"
    assert "(runs apart, p = 0.1)" in report.intro[0]
    assert report.intro[0].index("sum took") > 0
    assert any("p is at least 0.1." in text for text in report.intro)


# ---- choosing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "the dataset holds 6 runs: a comparison has two sides"),
        ({"runs": ("A0",)}, "runs= names 1 run instead of two: A0"),
        ({"runs": ("A0", "B0"), "after": ("B1",)}, "runs= and before= or after= are both given"),
        ({"runs": ("A0", "C0")}, "the dataset holds no run 'C0'"),
        ({"before": ("X*",), "after": ("B0",)}, r"the dataset holds no run 'X\*'"),
        ({"before": ("A0", "A1"), "after": ("A1", "B0")}, "on both sides: A1"),
        ({"before": ("*",)}, "all runs are on one side"),
        ({"other": "/nowhere/at/all"}, "no such dataset"),
    ],
)
def test_sides_that_cannot_be_told_are_refused_with_words(several, settings, said):
    with pytest.raises(harvest.HarvestError, match=said):
        report_of(several, **settings)


def test_a_run_whose_name_is_also_a_pattern_is_found_by_its_name(tmp_path):
    for name in ("A1", "A[1]", "B0"):
        write(tmp_path / name)
    firsts, _ = sides_of(harvested(tmp_path), before=("A[1]",), after=("B0",))
    assert [run.name for run in firsts] == ["A[1]"]


def test_one_run_alone_has_nothing_to_be_compared_with(same):
    with pytest.raises(harvest.UsageError, match="holds only one Dask run") as caught:
        report_of(same)
    assert "other=" in str(caught.value.remedy)


def test_two_datasets_are_compared_by_all_of_their_runs(same, changed):
    other = str(changed.sink.location)

    rows = numbers(same, other=other)

    assert rows["prefix", "plot", "total_s"]["after_runs"] == 2
    report = report_of(same, runs=("R1", "R2"), other=other)
    assert report.title == "Dask runs compared: R1 and R2"
    assert f"in the dataset {other}" in report.intro[-1]


# --- what all views and reports promise -----------------------------------------------------------


def dataset(self: Any, directory: Path, inputs: int) -> Any:
    """Two runs; with a second input, the later one has another kind of tasks."""
    write(directory / "R1")
    later = slowed("sum")
    write(directory / "R2", {**later, "plot": [0.5]} if inputs > 1 else later, since=60.0)
    return harvested(directory)


EXAMPLES = {"runs": "R2,R1", "before": "R2", "after": "R1"}


@pytest.mark.slow(night=True)  # a comparison is of two runs, and the kit asks for very many
class TestView(ViewConformance):
    view = "dask.compare"
    key = ("part", "name", "measure")
    examples: ClassVar = {**EXAMPLES, "equal": "true"}
    without_effect: ClassVar = {"other": "it names a place that a test makes"}
    null_says: ClassVar = {
        "dask.worker.action": "told by the stimulus, which an addition has not",
        "dask.transfer.requestor": "a client received it",
    }
    dataset = dataset

    def test_rows_are_neither_lost_nor_doubled(self, tmp_path: Path) -> None:
        """A comparison is of two inputs: over each alone there is none."""
        rows = self.two(tmp_path).view(self.view).select(self.key).collect()
        assert rows.height == rows.n_unique() > 0


@pytest.mark.slow(night=True)  # a comparison is of two runs, and the kit asks for very many
class TestReport(ReportConformance):
    report = "dask.compare"
    examples: ClassVar = {**EXAMPLES, "top": "1"}
    without_effect: ClassVar = {"other": "it names a place that a test makes"}
    dataset = dataset
