"""What is kept of a dataset: found once, for as long as the dataset is there."""

import gc
import weakref

import polars as pl
import pytest

from harvest_toolkit.frames import kept


class _Dataset:
    """Of a dataset, all that matters here: that it is one."""


class _Finding:
    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return {self.times}


def test_one_question_is_answered_once_a_dataset():
    one, other, find = _Dataset(), _Dataset(), _Finding()

    first = kept(one, "example.runs", find)

    assert kept(one, "example.runs", find) is first
    assert kept(one, ("example.runs", "R1"), find) == {2}
    assert kept(other, "example.runs", find) == {3}


def test_a_failure_is_not_kept():
    dataset = _Dataset()

    with pytest.raises(ZeroDivisionError):
        kept(dataset, "example.share", lambda: 1 / 0)

    assert kept(dataset, "example.share", lambda: 0.5) == 0.5


def test_a_frame_with_many_rows_is_made_again():
    dataset, made = _Dataset(), iter((pl.DataFrame({"n": [1, 2, 3]}), pl.DataFrame({"n": [4]})))

    frames = [kept(dataset, "example.rows", lambda: next(made), most=2) for _ in range(3)]

    assert [frame.height for frame in frames] == [3, 1, 1]


def test_the_answer_goes_with_the_dataset():
    dataset = _Dataset()
    answer = weakref.ref(kept(dataset, "example.runs", _Finding()))
    assert answer() is not None

    del dataset
    gc.collect()

    assert answer() is None
