"""Nothing is escaped in sacct's text: names with delimiters and line breaks are put together."""

from pathlib import Path

import pytest
from slurm_reader import read_dump as harvest

from harvest import Collected, SourceError

HEADER = ["JobID", "JobName", "User", "State", "ExitCode", "Elapsed", "Comment"]


def dump(rows: list[list[str]], header: list[str] = HEADER, mark: str = "|", end: str = "") -> str:
    return "".join(mark.join(row) + end + "\n" for row in [header, *rows])


def job(number: int, name: str, comment: str = "") -> list[str]:
    return [str(number), name, "ann", "COMPLETED", "0:0", "00:00:05", comment]


def names(found: Collected) -> list[str]:
    return [row["name"] for row in found.rows("slurm.job")]


@pytest.mark.parametrize("mark", ["|", ";|;", "\t", "\x1f", "¦", "~~sep~~"])
@pytest.mark.parametrize("trailing", [False, True], ids=["parsable2", "parsable"])
def test_the_delimiter_is_found_in_the_header(tmp_path: Path, mark: str, trailing: bool) -> None:
    rows = [job(1, "plain"), job(2, f"a{mark}b"), job(3, "two\nlines"), job(4, "x", "last")]
    found = harvest(tmp_path, dump(rows, mark=mark, end=mark if trailing else ""))
    assert names(found) == ["plain", f"a{mark}b", "two\nlines", "x"]
    assert [row["comment"] for row in found.rows("slurm.job")] == [None, None, None, "last"]
    assert [row["position"] for row in found.rows("slurm.job")] == [2, 3, 4, 6]


@pytest.mark.parametrize("place", [0, 2], ids=["first", "last"])
def test_a_name_at_an_edge_may_be_in_pieces(tmp_path: Path, place: int) -> None:
    made = ["a", "two\nlines", "x|y\n\nz", "b"]
    rows = [[str(n), "FAILED"] for n in range(5)]
    for row, name in zip(rows, ["JobName", *made], strict=True):
        row.insert(place, name)
    header = [{"0": "JobID", "FAILED": "State"}.get(text, text) for text in rows[0]]
    found = harvest(tmp_path, dump(rows[1:], header))
    assert names(found) == made
    assert not found.rejects


def test_what_cannot_be_told_is_a_reject(tmp_path: Path) -> None:
    # given a field too many, which either of two free fields may hold
    header = ["JobID", "JobName", "Comment", "State"]
    text = "|".join(header) + "\n1|a|b|c|FAILED\n2|d|e|FAILED\n"
    found = harvest(tmp_path, text)
    (reject,) = found.rejects
    assert (reject.position, reject.raw) == (2, b"1|a|b|c|FAILED")
    assert "several ways" in reject.reason
    assert names(found) == ["d"]


def test_a_damaged_line_costs_that_line(tmp_path: Path) -> None:
    rows = [job(1, "a"), job(2, "b"), job(3, "c")]
    lines = dump(rows).splitlines(keepends=True)
    lines[2] = "2|b|an\n"
    found = harvest(tmp_path, "".join(lines))
    assert names(found) == ["a", "c"]
    (reject,) = found.rejects
    assert (reject.position, reject.raw) == (3, b"2|b|an")
    assert "3 fields instead of 7" in reject.reason


def test_a_file_that_ends_early(tmp_path: Path) -> None:
    text = dump([job(1, "a"), job(2, "b")])
    found = harvest(tmp_path, text[:-20])
    assert names(found) == ["a"]
    assert "the file ends inside this record" in found.rejects[0].reason


def test_dumps_may_be_concatenated(tmp_path: Path) -> None:
    found = harvest(tmp_path, dump([job(1, "a")]) + "\n" + dump([job(2, "b")]))
    assert names(found) == ["a", "b"]
    assert found.folded == {"repeated header": 1, "blank line": 1}
    # but not below a header of other columns: values would get wrong names
    for name in ("a", '"a|b"'):  # without quotes, and as CSV
        with pytest.raises(SourceError, match="line 3 names other columns: divide the file there"):
            harvest(tmp_path, dump([job(1, name)]) + dump([job(2, "b")], HEADER[::-1]))


def test_odd_bytes_and_line_ends(tmp_path: Path) -> None:
    text = dump([job(1, "caf\u00e9"), job(2, "x\ry"), job(3, "plain")]).encode()
    found = harvest(tmp_path, text.replace("\u00e9".encode(), b"\xe9"))
    assert names(found) == ["caf\\xe9", "x\ry", "plain"]
    again = harvest(tmp_path, dump([job(1, "a", "c"), job(2, "b")]).replace("\n", "\r\n"))
    assert names(again) == ["a", "b"]
    assert again.rows("slurm.job")[0]["comment"] == "c"


def test_a_value_that_cannot_be_read_names_its_column(tmp_path: Path) -> None:
    rows = [job(1, "a"), job(2, "b")]
    rows[1][5] = "5 minutes"
    (reject,) = harvest(tmp_path, dump(rows)).rejects
    assert reject.reason == ("Elapsed: '5 minutes': no duration of the form [D-][HH:]MM:SS")
    assert reject.record_type == "slurm.job"
    assert reject.raw == b"2|b|ann|COMPLETED|0:0|5 minutes|"


def test_columns_of_no_job_go_to_extra(tmp_path: Path) -> None:
    header = ["JobID", "State", "Timelimit", "NewField", "MaxRSS"]
    found = harvest(tmp_path, dump([["1", "FAILED", "UNLIMITED", "x", "5K"]], header))
    (row,) = found.rows("slurm.job")
    assert dict(row["extra"]) == {"Timelimit": "UNLIMITED", "NewField": "x", "MaxRSS": "5K"}
    assert row["timelimit_s"] is None


def test_raw_fields_stand_in_and_contradictions_are_kept(tmp_path: Path) -> None:
    header = ["JobID", "State", "ElapsedRaw", "Elapsed", "TimelimitRaw"]
    rows = [["1", "FAILED", "5", "00:00:05", "60"], ["2", "FAILED", "7", "00:00:06", "UNLIMITED"]]
    one, two = harvest(tmp_path, dump(rows, header)).rows("slurm.job")
    assert (one["elapsed_s"], one["timelimit_s"], one["extra"]) == (5.0, 3600.0, None)
    assert two["elapsed_s"] == 6.0
    assert dict(two["extra"]) == {"ElapsedRaw": "7", "TimelimitRaw": "UNLIMITED"}


def test_csv_with_quotes(tmp_path: Path) -> None:
    text = 'Job Name,Job ID,Elapsed\n"a,b ""c""",1,00:00:05\n"two\nlines",2,00:00:06\nx,3\n'
    found = harvest(tmp_path, text)
    assert names(found) == ['a,b "c"', "two\nlines"]
    (reject,) = found.rejects
    assert reject.reason == "2 fields instead of 3"


def test_an_empty_file_and_a_header_alone(tmp_path: Path) -> None:
    assert harvest(tmp_path, "").notes == ["the file is empty"]
    assert harvest(tmp_path, "|".join(HEADER) + "\n").written == 0


def test_fixed_widths(tmp_path: Path) -> None:
    header = "JobID           JobName      State     Elapsed \n"
    dashes = "------------ ---------- ---------- ----------- \n"
    rows = (
        f"{'1':12} {'a|b':>10} {'FAILED':>10} {'00:00:05':>11} \n"
        f"{'2':12} {'a-long-na+':>10} {'CANCELLED+':>10} {'1-00:00:00':>11} \n"
        f"{'3':12} {chr(10).join(['two', 'lines']):>10} {'FAILED':>10} {'00:00:05':>11} \n"
        "4    short\n"
        f"{'123456789_1+':12} {'x':>10} {'FAILED':>10} {'00:00:05':>11} \n"
    )
    found = harvest(tmp_path, header + dashes + rows)
    assert names(found) == ["a|b", "a-long-na+", "two\nlines"]
    assert [row["state"] for row in found.rows("slurm.job")] == ["failed", "cancelled", "failed"]
    reasons = [(reject.position, reject.reason) for reject in found.rejects]
    assert reasons == [
        (7, "10 bytes where the columns take 47"),
        (8, "JobID: '123456789_1+': no job id of a form that Slurm prints"),
    ]


def test_bytes_in_fixed_widths_are_shown(tmp_path: Path) -> None:
    # sacct cuts columns by bytes, through a character if need be
    header = b"JobID           JobName      State     Elapsed \n"
    dashes = b"------------ ---------- ---------- ----------- \n"
    rest = b"    FAILED    00:00:05 \n"
    rows = b"1            " + b"      caf\xe9 " + rest + b"2            " + b"123456789\xc3 " + rest
    found = harvest(tmp_path, header + dashes + rows)
    assert names(found) == ["caf\\xe9", "123456789\\xc3"]
    assert not found.rejects


@pytest.mark.parametrize("tasks", ["1,3,5...", "1-3,...%2"])
@pytest.mark.parametrize("step", ["", ".batch"])
def test_shortened_arrays(tmp_path: Path, tasks: str, step: str) -> None:
    # given the id of a pending array with more tasks than sacct shows
    found = harvest(tmp_path, f"JobID|State\n1_[{tasks}]{step}|PENDING\n")
    (row,) = found.rows("slurm.step" if step else "slurm.job")
    assert row["job_id"] == f"1_[{tasks}]"
    if step:
        assert row["step_id"] == step[1:]
    else:
        assert (row["array_job_id"], row["array_tasks"]) == (1, tasks)


@pytest.mark.parametrize(
    ("time", "noted"),
    [
        ("2024-07-01T12:00:00", True),
        ("2024-07-01 12:00", True),
        ("2024-07-01 12:00:00+0200", False),
        ("1719835200", False),
    ],
)
def test_times_without_zone_are_noted(tmp_path: Path, time: str, noted: bool) -> None:
    text = f"JobID|Start\n1|{time}\n"
    found = harvest(tmp_path, text)
    said = "times carry no zone and were read as UTC"
    assert [note.startswith(said) for note in found.notes] == [True] * noted
    assert not harvest(tmp_path, text, timezone="Europe/Zurich").notes


def test_delimiters_that_may_begin_at_two_places(tmp_path: Path) -> None:
    # given a name that ends with the begin of the delimiter, and where two fields are free
    found = harvest(tmp_path, "JobID::JobName::State\n1::a:::FAILED\n")
    assert names(found) == ["a:"]
    found = harvest(tmp_path, "JobID::JobName::Comment::State\n1::a:::b::FAILED\n")
    assert "several ways" in found.rejects[0].reason


def test_empty_lines_at_the_end_of_a_file_are_counted_and_part_of_no_name(tmp_path: Path) -> None:
    found = harvest(tmp_path, "JobID|State|JobName\n1|FAILED|name\n\n\n")
    assert names(found) == ["name"]
    assert found.folded == {"blank line": 2}
