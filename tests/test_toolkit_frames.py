"""Sums and fractions of known values, frames computed when asked for, what is kept of a dataset."""

import gc
import math
import weakref
from collections.abc import Callable

import polars as pl
import pytest

from harvest_toolkit import frames
from harvest_toolkit.frames import deferred, kept


@pytest.mark.parametrize(
    ("rule", "none", "unknown", "partly", "whole"),
    [
        (frames.known_sum, None, None, 3, 5),
        (frames.sum_or_none, 0, None, 3, 5),
        (frames.complete_sum, None, None, None, 5),
    ],
)
def test_a_sum_says_what_of_its_values_is_known(
    rule: Callable[[str], pl.Expr],
    none: int | None,
    unknown: int | None,
    partly: int | None,
    whole: int,
) -> None:
    def found(*values: int | None) -> int | None:
        return pl.DataFrame({"x": list(values)}, schema={"x": pl.Int64}).select(rule("x")).item()

    assert found() == none
    assert found(None, None) == unknown
    assert found(3, None) == partly
    assert found(3, 2) == whole


@pytest.mark.parametrize("rule", [frames.known_sum, frames.sum_or_none, frames.complete_sum])
@pytest.mark.parametrize("values", [[2**62, 2**62], [-(2**62)] * 3, [2**63 - 1, 1], [2**63 - 1]])
def test_a_sum_that_its_type_cannot_hold_is_null(
    rule: Callable[[str], pl.Expr], values: list[int]
) -> None:
    exact = sum(values)
    rows = pl.DataFrame({"x": values, "g": 1}, schema={"x": pl.Int64, "g": pl.Int8})

    found = rows.select(rule("x")).item()

    assert found == (exact if -(2**63) <= exact < 2**63 else None)
    assert rows.group_by("g").agg(rule("x"))["x"].item() == found


def test_only_what_can_be_is_possible() -> None:
    rows = pl.DataFrame({"n": [0, 5, -1, 2**63 - 1, None], "s": [0.5, -2.0, math.nan, 1e300, None]})
    assert rows.select(frames.possible("n")).to_series().to_list() == [0, 5, None, 2**63 - 1, None]
    spent = rows.select(frames.whole_nanoseconds("s")).to_series()
    assert spent.to_list() == [5 * 10**8, -2 * 10**9, None, None, None]


def test_a_number_that_a_column_cannot_hold_is_null_and_certainty_says_so() -> None:
    wide = {"x": pl.Int128, "certainty": pl.List(pl.String)}
    rows = pl.DataFrame({"x": [3, 2**70], "certainty": [["part"], ["part"]]}, schema=wide)
    schema = {"x": pl.Int64(), "certainty": pl.List(pl.String())}

    found = deferred(lambda: rows, schema).collect()

    assert found.rows() == [(3, ["part"]), (None, ["part", "too_large"])]


def test_a_count_of_flags_is_null_where_no_flag_is_known() -> None:
    rows = pl.DataFrame(
        {"known": [True, None, False], "unknown": pl.Series([None] * 3, dtype=bool)}
    )
    found = rows.select(frames.count_if_known("known"), frames.count_if_known("unknown"))
    assert found.row(0) == (1, None)


def test_a_fraction_is_null_where_the_whole_is_zero_or_something_is_unknown() -> None:
    rows = pl.DataFrame({"part": [1, 0, None, 1], "whole": [4, 0, 4, None]})
    found = rows.select(frames.fraction("part", "whole"))["part"].to_list()
    assert found == [0.25, None, None, None]


def test_the_first_condition_that_is_true_gives_the_text() -> None:
    rows = pl.DataFrame({"size": [None, 0, 5, 50]})
    size = pl.col("size")
    said = frames.first_text(
        (size.is_null(), "not known"),
        (size == 0, "empty"),
        (size < 10, pl.format("only {}", size)),
    )
    assert rows.select(said).to_series().to_list() == ["not known", "empty", "only 5", None]


def test_a_rule_is_applied_to_each_text_and_null_stays_null() -> None:
    found = frames.each_once(pl.Series(["b", None, "b"]), list, pl.List(pl.String))

    assert found.to_list() == [["b"], None, ["b"]]


def test_the_nearest_directory_above_is_the_directory_itself_or_a_parent() -> None:
    paths = pl.DataFrame({"d": ["/a", "/a/b/c", "/ab", "x", None]})

    above = paths.select(frames.nearest_above(pl.col("d"), ["/a", "/a/b", "x"])).to_series()

    assert above.to_list() == ["/a", "/a/b", None, "x", None]


def test_queries_of_a_deferred_frame_that_are_collected_together_compute_it_once() -> None:
    computed = []

    def compute() -> pl.DataFrame:
        computed.append(1)
        return pl.DataFrame({"x": [1, 2, 3]})

    frame = deferred(compute, {"x": pl.Int64()})

    total, large = pl.collect_all([frame.select(pl.col("x").sum()), frame.filter(pl.col("x") > 1)])

    assert (total.item(), large["x"].to_list(), len(computed)) == (6, [2, 3], 1)


class _Dataset:
    """Of a dataset, all that matters here: that it is one."""


class _Finding:
    times = 0

    def __call__(self) -> set[int]:
        self.times += 1
        return {self.times}


def test_one_question_is_answered_once_a_dataset() -> None:
    one, other, find = _Dataset(), _Dataset(), _Finding()

    first = kept(one, "example.runs", find)

    assert kept(one, "example.runs", find) is first
    assert kept(one, ("example.runs", "R1"), find) == {2}
    assert kept(other, "example.runs", find) == {3}


def test_a_failure_is_not_kept() -> None:
    dataset = _Dataset()

    with pytest.raises(ZeroDivisionError):
        kept(dataset, "example.share", lambda: 1 / 0)

    assert kept(dataset, "example.share", lambda: 0.5) == 0.5


def test_a_frame_with_many_rows_is_made_again() -> None:
    dataset, made = _Dataset(), iter((pl.DataFrame({"n": [1, 2, 3]}), pl.DataFrame({"n": [4]})))

    frames = [kept(dataset, "example.rows", lambda: next(made), most=2) for _ in range(3)]

    assert [frame.height for frame in frames] == [3, 1, 1]


def test_the_answer_goes_with_the_dataset() -> None:
    dataset = _Dataset()
    answer = weakref.ref(kept(dataset, "example.runs", _Finding()))
    assert answer() is not None

    del dataset
    gc.collect()

    assert answer() is None
