"""What views and rules say too much where less is known."""

import polars as pl

import harvest
from harvest import Dataset
from harvest.columns import count, flag
from harvest_testing import faults_of_unknown


class Known:
    """A plugin with a view, whose rows a column of true and null tells apart."""

    @harvest.hookimpl
    def harvest_views(self):
        rows = pl.LazyFrame({"known": [True, None], "lines": [1, 2]})
        columns = (
            flag("known", "Whether it is known; null if not said."),
            count("lines", "Lines."),
        )
        return [harvest.View(name="demo.known", doc="A.", build=lambda _: rows, columns=columns)]


def test_a_key_may_be_a_column_that_is_true_or_null():
    dataset = Dataset.blank(harvest.plugins_of(Known()))

    assert faults_of_unknown(dataset, dataset, "demo.known", ("known",)) == []
