"""Tables follow what columns become: added, wider, long names; what cannot be is refused."""

from pathlib import Path

import pytest

import harvest
from harvest.plugins import plugins_of
from harvest_exports import plugin
from harvest_parquet.sink import ParquetSink

pytestmark = pytest.mark.slow

LONG = "a_name_of_so_many_words_that_a_database_which_takes_63_bytes_cuts_it_in_its_"


def source_of(**columns: type):
    """A source of the record type ``page.line`` with these columns: the words of a line."""
    line = harvest.record("page.line", layer="system", level="client")(
        type(
            "Line",
            (harvest.Record,),
            {
                "__doc__": "A line of a page.",
                "__annotations__": {name: kind | None for name, kind in columns.items()},
                **{name: harvest.field(doc=f"Meaning of {name}.") for name in columns},
            },
        )
    )

    class PageSource(harvest.Source):
        """Pages of lines: NAME=VALUE ..."""

        name, record_types = "page", (line,)

        def read(self, partition, ctx):
            for text in partition.path.read_text().splitlines():
                words = dict(word.split("=") for word in text.split())
                kinds = {n: str if k is str else int for n, k in columns.items()}
                yield line(**{n: kinds[n](words[n]) if n in words else None for n in columns})

    return PageSource


class Pages:
    """A folder of pages, their dataset and the database that it is exported into."""

    def __init__(self, folder: Path, server, database: str):
        self.folder, self.server, self.database = folder, server, database
        (folder / "in").mkdir()

    def put(self, name: str, *lines: str) -> None:
        (self.folder / "in" / name).write_text("\n".join(lines))

    def export(self, source, *, force: bool = False, **settings) -> str:
        """Harvest by this source, and export; gives what was said."""
        plugins = plugins_of(source, ParquetSink, plugin)
        out = self.folder / "out"
        harvest.run(f"page:{self.folder}/in", f"parquet:{out}", plugins=plugins, force=force)
        dataset = harvest.open(out, plugins=plugins)
        return dataset.export("postgresql", self.server.uri(self.database), **settings).text

    def rows(self, query: str) -> list[tuple]:
        with self.server.connect(self.database) as connection:
            return connection.execute(query).fetchall()

    def types(self) -> dict[str, str]:
        """The types of the table's columns, as PostgreSQL calls them."""
        return dict(
            self.rows(
                "SELECT column_name, data_type FROM information_schema.columns "
                "WHERE table_name = 'page_line'"
            )
        )


@pytest.fixture
def pages(tmp_path, server, database) -> Pages:
    return Pages(tmp_path, server, database)


def test_a_column_that_was_added_is_added_and_older_rows_stay(pages):
    pages.put("a", "number=1", "number=2")
    pages.export(source_of(number=int))
    # when a newer plugin gives another column
    pages.put("b", "number=3 note=x")
    said = pages.export(source_of(number=int, note=str))
    # then the table has it, with its meaning, and the rows of before were not sent again
    assert said.startswith("1 row written and 0 rows removed in 1 table ")
    ask = "SELECT number, note FROM harvest.page_line ORDER BY number"
    assert pages.rows(ask) == [(1, None), (2, None), (3, "x")]
    comment = (
        "SELECT col_description(attrelid, attnum) FROM pg_attribute "
        "WHERE attrelid = 'harvest.page_line'::regclass AND attname = 'note'"
    )
    assert pages.rows(comment) == [("Meaning of note.",)]


def test_values_of_before_are_sent_where_the_plugin_learns_to_show_them(pages):
    # given rows with a column that the plugin of the export does not know
    pages.put("a", "number=1 note=x")
    both = source_of(number=int, note=str)
    pages.export(both, schema="other")
    pages.export(source_of(number=int))
    assert "note" not in {
        name for (name,) in pages.rows(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'harvest'"
        )
    }  # fmt: skip
    # when it does, then the table has the values, although no file changed
    pages.export(both)
    assert pages.rows("SELECT number, note FROM harvest.page_line") == [(1, "x")]


def test_a_column_that_became_wider_is_altered_and_keeps_its_values(pages):
    pages.put("a", "number=7")
    pages.export(source_of(number=harvest.Int32))
    assert pages.types()["number"] == "integer"
    pages.put("b", f"number={2**40}")
    said = pages.export(source_of(number=int))
    assert said.startswith("1 row written and 0 rows removed in 1 table ")
    assert pages.types()["number"] == "bigint"
    ask = "SELECT number FROM harvest.page_line ORDER BY 1"
    assert pages.rows(ask) == [(7,), (2**40,)]


def test_a_change_that_keeps_not_every_value_is_refused_with_what_to_do(pages):
    pages.put("a", "number=7")
    pages.export(source_of(number=int))
    # when all is harvested anew, with texts in the place of numbers
    pages.put("a", "number=seven")
    texts = source_of(number=str)
    with pytest.raises(harvest.UsageError, match="does not keep every value") as caught:
        pages.export(texts, force=True)
    # then the table is as it was
    assert pages.rows("SELECT number FROM harvest.page_line") == [(7,)]
    assert caught.value.where == "page.line"
    # and what the message says to do helps
    assert 'drop the table "harvest"."page_line"' in str(caught.value.remedy)
    with pages.server.connect(pages.database) as connection:
        connection.execute('DROP TABLE "harvest"."page_line"')
    pages.export(texts)
    assert pages.rows("SELECT number FROM harvest.page_line") == [("seven",)]


def test_names_that_a_database_cuts_stay_apart_and_are_told_whole(pages):
    # given two columns that are the same in the first 63 bytes, one of 63, and one of its own
    names = {f"{LONG}a": "1", f"{LONG}b": "2", "c" * 63: "3", "tableoid": "4"}
    pages.put("a", " ".join(f"{name}={value}" for name, value in names.items()))
    pages.export(source_of(**dict.fromkeys(names, str)))
    told = pages.rows(
        "SELECT attname, col_description(attrelid, attnum) FROM pg_attribute WHERE attnum > 0 "
        "AND attrelid = 'harvest.page_line'::regclass AND col_description(attrelid, attnum) "
        "LIKE '%Meaning of%' ORDER BY attnum"
    )
    # then each has its values, and a comment that begins with the name that was cut
    held = [pages.rows(f'SELECT "{name}" FROM harvest.page_line') for name, _ in told]
    assert held == [[(value,)] for value in names.values()]
    assert [comment for _, comment in told] == [
        f"{LONG}a: Meaning of {LONG}a.",
        f"{LONG}b: Meaning of {LONG}b.",
        f"Meaning of {'c' * 63}.",
        "tableoid: Meaning of tableoid.",
    ]
    assert all(len(name) <= 63 for name, _ in told)
    # also in the next export
    pages.put("b", f"{LONG}b=5")
    assert pages.export(source_of(**dict.fromkeys(names, str))).startswith("1 row written")
    assert ("5",) in pages.rows(f'SELECT "{told[1][0]}" FROM harvest.page_line')
