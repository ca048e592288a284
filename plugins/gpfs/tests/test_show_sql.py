"""gpfs.show as the SQL expression that stands in the policy."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest import SourceError, UsageError
from harvest_gpfs.parse.show_clause import template


def rows(path: Path, out: Path, **settings: str) -> list[dict]:
    harvest.run(f"gpfs:{path}", f"parquet:{out}", settings={"gpfs": settings})
    return harvest.open(out)["gpfs.file"].sort("position").collect().to_dicts()


@pytest.mark.parametrize(
    ("sql", "show", "size"),
    [
        ("'size=' || varchar(file_size)", "size=1048576", 1048576),
        ("SHOW('size=' || VARCHAR(FILE_SIZE))", "size=1048576", 1048576),
        ("varchar(user_id) || ' ' || varchar(file_size)", "7 1048576", 1048576),
        ("'it''s ' || varchar(file_size, 20) /* bytes */ || ' B'", "it's 12 B", 12),
        ("varchar(file_size/1024) || ';' || VARCHAR (FILE_SIZE)", "3;3072", 3072),
    ],
)
def test_an_expression_names_what_a_list_prints(tmp_path, sql, show, size):
    path = tmp_path / "scan.list"
    path.write_text(f"23552 1947883102 0  {show} -- /gpfs0/data/a\n")

    (row,) = rows(path, tmp_path / "out", show=sql)

    assert row["size_bytes"] == size


def test_an_example_of_the_manual(tmp_path):
    sql = "'inum ' || varchar(Clone_Parent_Inode) || ' par ' || varchar(Clone_Is_Parent)"
    path = tmp_path / "scan.list"
    path.write_text("5 6 0  inum 148488 par 0 -- /fs1/file3\n")

    (row,) = rows(path, tmp_path / "out", show=sql)

    extra = dict(pair.values() if isinstance(pair, dict) else pair for pair in row["extra"])
    assert extra == {"Clone_Parent_Inode": "148488", "Clone_Is_Parent": "0"}


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("case when a then 'b' end || 'x'", "case in"),
        ("'a' || (select 1)", "select in"),
        ("'x' || null", "null in"),
        ("varchar(file_size) || ", "an operand of || is missing"),
        ("varchar(file_size) || 'x", "is not a text between single quotes"),
        ("varchar(file_size || 'x'", "is not understood"),
        ("varchar(user_id) || varchar(file_size)", "nothing stands between"),
        ("'x' || varchar()", "names no attribute"),
        ("'x' || 5", "is not a value"),
    ],
)
def test_what_is_not_understood_is_refused_by_its_part(tmp_path, sql, said):
    with pytest.raises(ValueError, match=r".") as refused:
        template(sql)
    assert said in str(refused.value)

    path = tmp_path / "scan.list"
    path.write_text("23552 1947883102 0  size=1 -- /gpfs0/data/a\n")
    with pytest.raises((UsageError, SourceError), match=r"gpfs\.show"):
        rows(path, tmp_path / "out", show=sql)


TEXTS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=6)
MARKS = st.sampled_from([" ", "|", ";", ", ", "=", ":", " '", "|x="])


@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=4), MARKS)
def test_any_concatenation_is_its_texts_and_attributes(texts, mark):
    # given texts and attributes in turn, written as SQL
    pieces = [(f"ATTRIBUTE_{n}", mark + text, cast) for n, (text, cast) in enumerate(texts)]
    sql = "varchar(FILE_SIZE)"
    for name, text, cast in pieces:
        quoted = text.replace("'", "''")
        sql += f" || '{quoted}'||{f'VARCHAR({name}, 9)' if cast else name}"

    found = template(f"SHOW({sql})" if len(texts) % 2 else sql)

    assert found.parts == (("", "FILE_SIZE"), *((text, name) for name, text, _ in pieces))
