"""Delimiters found in headers, and commas with and without CSV's quotes."""

import csv
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import read_dump as harvest

from harvest import Collected, SourceError
from harvest_slurm.read import csvtext
from harvest_slurm.read.layout import find_layout
from harvest_slurm.source import SlurmSource
from harvest_slurm.values.fields import FIELDS as SACCT_FIELDS


def dump(rows: list[list[str]], header: list[str]) -> str:
    return "".join(",".join(row) + "\n" for row in [header, *rows])


FIELDS = [field.name for field in SACCT_FIELDS]


def names(found: Collected) -> list[str]:
    return [row["name"] for row in found.rows("slurm.job")]


def test_commas_without_csv(tmp_path: Path) -> None:
    # given names with a quote each, as ``sacct --parsable2 --delimiter=,`` writes them
    rows = [["1", '"a', "COMPLETED"], ["2", "b", "COMPLETED"], ["3", 'c"', "FAILED"]]
    text = dump(rows, ["JobID", "JobName", "State"])
    for setting in (None, ",", "comma"):
        found = harvest(tmp_path, text, delimiter=setting)
        assert names(found) == ['"a', "b", 'c"']
        assert not found.rejects
    (note,) = harvest(tmp_path, text).notes
    assert "those at line 2 would stand around whole records" in note


@pytest.mark.parametrize(
    ("name", "why"),
    [('6" pipe', "see line 3"), ('"6" pipe', "see line 3"), ('"never closed', "never closed")],
)
def test_one_quote_out_of_place_makes_a_file_raw(tmp_path: Path, name: str, why: str) -> None:
    rows = [["1", '"quoted"', "FAILED"], ["2", name, "FAILED"]]
    found = harvest(tmp_path, dump(rows, ["JobID", "JobName", "State"]))
    assert names(found) == ['"quoted"', name]
    (note,) = found.notes
    assert why in note


def test_a_quote_out_of_place_far_behind_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given more text than is looked at in one go
    monkeypatch.setattr(csvtext, "BLOCK_BYTES", 100)
    rows = [[str(n), '"x, y"', "FAILED"] for n in range(1, 60)]
    header = ["JobID", "JobName", "State"]
    assert names(harvest(tmp_path, dump(rows, header))) == ["x, y"] * 59
    found = harvest(tmp_path, dump([*rows, ["60", 'a"b', "FAILED"]], header))
    assert names(found) == ['"x, y"'] * 59 + ['a"b']
    assert "see line 61" in found.notes[0]


@pytest.mark.parametrize(
    ("header", "mark"),
    [
        ("JobIDRaw|State", "|"),
        ("State|SLUID|JobID", "|"),
        ("JobID~~sep~~State", "~~sep~~"),
        ("Job_ID,Job Name", ","),
        ("JobID_State", "_"),
        ("JobName%30|JobID", "|"),
        ('"JobID";"State"', ";"),
    ],
)
def test_delimiters_begin_with_no_letter_or_digit(header: str, mark: str) -> None:
    layout = find_layout(f"{header}\n".encode(), where="x")
    assert layout.delimiter == mark
    assert len(layout.columns) == header.count(mark) + 1


def test_a_delimiter_that_the_header_does_not_have(tmp_path: Path) -> None:
    for text in ('"JobID","State"\n"1","FAILED"\n', "JobID|State\n1|FAILED\n"):
        with pytest.raises(SourceError, match=r"leave out slurm\.delimiter"):
            harvest(tmp_path, text, delimiter=",")


@pytest.mark.slow
@given(
    st.sampled_from(["JobID", "JobIDRaw"]),
    st.lists(st.sampled_from(FIELDS[2:]), min_size=1, max_size=4, unique=True),
    st.integers(0, 4),
    st.sampled_from(["|", ",", ";", "\t", "\x1f", "^", "~", "::", ";|;", " ", ", ", "_", "¦", '"'])
    | st.text(st.sampled_from(string.punctuation + " \t\x1f§"), min_size=1, max_size=4),
    st.booleans(),
)
def test_the_delimiter_of_any_header_is_found(
    job: str, others: list[str], place: int, mark: str, trailing: bool
) -> None:
    columns = [*others[:place], job, *others[place:]]
    header = mark.join(columns) + (mark if trailing else "") + "\n"
    layout = find_layout(header.encode(), where="x")
    assert (layout.delimiter, list(layout.columns), layout.trailing) == (mark, columns, trailing)


def test_the_index_of_a_table_is_kept_under_a_name(tmp_path: Path) -> None:
    # given what pandas writes with its index, and an own column without a name
    text = ',Job Name,JobID,,State\n0,"a, b",1,x,FAILED\n7,c,2,,FAILED\n'
    found = harvest(tmp_path, text)
    assert names(found) == ["a, b", "c"]
    first, second = (dict(row["extra"]) for row in found.rows("slurm.job"))
    assert first == {"index": "0", "column_4": "x"}
    assert second == {"index": "7"}


@pytest.mark.pandas
def test_what_pandas_writes(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"JobID": [1, 2, 3], "JobName": ["a", 'b, "c"', "two\nlines"]})
    for options in ({}, {"quoting": csv.QUOTE_ALL}, {"quoting": csv.QUOTE_ALL, "sep": ";"}):
        found = harvest(tmp_path, table.to_csv(**options))
        assert names(found) == list(table["JobName"])
        assert [dict(row["extra"])["index"] for row in found.rows("slurm.job")] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("head", "columns", "found"),
    [
        (b"1|a|COMPLETED|00:00:01\n2|b|FAILED|00:00:02\n", (), r"4 fields by the delimiter '\|'"),
        (b"1|a|COMPLETED|00:00:01\n2|b|FAILED|00:00:02\n", ("JobName", "State"), "names 2 columns"),
        (b"a|COMPLETED\nb|FAILED\n", ("JobName", "State"), "no column JobID among JobName, State"),
        (b"JobName|State\na|COMPLETED\n", (), "no column JobID among JobName, State in the header"),
    ],
)
def test_a_header_that_is_missing_or_wrong_is_named_with_the_setting(head, columns, found):
    with pytest.raises(SourceError, match=found) as error:
        find_layout(head, where="dump.txt", columns=columns)
    assert "--set slurm.columns=JobID,JobName,State,..." in error.value.message


# which files are taken for sacct's, among real samples


OF_OTHERS = (
    "squeue squeue-format squeue-json sinfo scontrol-job scontrol-job-oneline version helpformat "
    "batch-script bad-field bad-time"
)


def test_detect_knows_dumps_among_samples(shared_data: Path) -> None:
    slurm = shared_data / "slurm"
    samples = [
        *(slurm / "debian-22.05").glob("*.out"), *(shared_data / "ncem").glob("*.csv"),
        *slurm.glob("json-2*.json"), slurm / "sacct-parsable2-noheader-other-site.txt",
    ]  # fmt: skip
    found = {path.name: SlurmSource.detect(path) for path in samples}
    others = {f"{name}.out" for name in OF_OTHERS.split()}
    others |= {name for name in found if name.endswith(".csv")} - {"slurm_job_info.head.csv"}
    assert {name for name, likely in found.items() if likely is None} == others
    # columns of an order that nobody knows must be named before the dump can be read
    unsure = {name for name, likely in found.items() if likely and likely.confidence < 0.7}
    assert unsure == {"parsable2-noheader.out"}


def test_detect_leaves_lists_of_squeue_without_header(tmp_path: Path) -> None:
    # squeue -h -O JobArrayID:|,JobID:|,Name:|,State:|,Reason:|,SubmitTime:|,EligibleTime:|,...
    path = tmp_path / "queue.txt"
    path.write_text(
        "7|7|held|PENDING|JobHeldUser|2024-05-01T08:00:00|N/A|N/A\n"
        "8|8|runs|RUNNING|None|2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T08:00:05\n"
    )
    assert SlurmSource.detect(path) is None


def test_detect_knows_the_same_jobs_as_sacct_prints_them(tmp_path: Path) -> None:
    # given rows of sacct --noheader, where a time that is not known is a word of sacct's
    path = tmp_path / "sacct.txt"
    path.write_text(
        "7|7|held|PENDING|JobHeldUser|2024-05-01T08:00:00|Unknown|Unknown\n"
        "8|8|runs|RUNNING|None|2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T08:00:05\n"
    )
    found = SlurmSource.detect(path)
    assert found is not None
    assert found.confidence == 0.4
    assert "no known order of columns fits (fields 4 like State" in found.reason
