"""Distiller's CSV exports and the texts that are in them."""

import bz2
import csv
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import SourceError, collect
from harvest_distiller.exports import size_of_name
from harvest_distiller.source import OTHER, DistillerConfig, DistillerSource
from harvest_distiller.uri import redact, scrub, secrets


def read(path, **config):
    found = collect(DistillerSource(str(path), DistillerConfig(**config)))
    assert found.accounted == found.units
    return found


def test_an_export_gives_a_row_per_job(tmp_path):
    # given blank ids and times, a scan with two jobs, and both ways to write a duration
    table = tmp_path / "128_128.csv"
    table.write_bytes(
        b"\xef\xbb\xbfid,slurm_id,elapsed\r\n"
        b"1930,58250603,00:04:19\r\n"
        b"1930,58248564.0,0 days 00:19:38\r\n"
        b"1928,,\r\n"
        b"3028,,1 days 00:00:37.250000\r\n"
    )
    rows = read(table).rows("distiller.job")
    assert [(r["scan_id"], r["slurm_id"], r["elapsed_s"], r["position"]) for r in rows] == [
        (1930, 58250603, 259.0, 2),
        (1930, 58248564, 1178.0, 3),
        (1928, None, None, 4),
        (3028, None, 86437.25, 5),
    ]
    assert {r["scan_size"] for r in rows} == {"128x128"}


def test_what_does_not_fit_is_kept_as_rejects(tmp_path):
    table = tmp_path / "jobs.csv"
    table.write_text(
        "elapsed,id,slurm_id,user\n"
        "00:00:30,1,2,Ann\n"
        "00:00:30,1,58x,Ann\n"
        "00:00:30,,2,Ann\n"
        "-1 days +23:59:30,1,2,Ann\n"
        "-00:00:30,1,2,Ann\n"
        "00:99:00,1,2,Ann\n"
        "1,2\n"
        "\n"
    )
    found = read(table)
    (row,) = found.rows("distiller.job")
    assert row["extra"] == [("user", "Ann")]
    assert row["scan_size"] is None
    assert any("set distiller.scan_size" in note for note in found.notes)
    assert {(r.position, r.reason) for r in found.rejects} == {
        (3, "Slurm id '58x' is not a number"),
        (4, "no scan id"),
        (5, "elapsed '-1 days +23:59:30' is not a duration such as 00:04:19"),
        (6, "elapsed '-00:00:30' is negative"),
        (7, "elapsed '00:99:00' is not a duration such as 00:04:19"),
        (8, "2 fields where the header has 4"),
    }
    assert found.rejects[1].raw in (b"00:00:30,,2,Ann", b"00:00:30,1,58x,Ann", b"1,2")
    assert found.filtered == {"blank line": 1}


def test_the_size_is_a_setting_too(tmp_path):
    table = tmp_path / "jobs.csv"
    table.write_text("id,slurm_id,elapsed\n1,2,\n")
    assert read(table, scan_size="256_256").rows("distiller.job")[0]["scan_size"] == "256x256"
    with pytest.raises(ValueError, match="scan_size 'big' is not valid"):
        DistillerConfig(scan_size="big")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("128_128.csv", "128x128"),
        ("1024_512.head.csv", "1024x512"),
        ("jobs-64x64.csv", "64x64"),
        ("jobs.csv", None),
        ("jobs_2023_10.csv", "2023x10"),  # a name that misleads needs the setting
    ],
)
def test_sizes_in_file_names(tmp_path, name, size):
    assert size_of_name(tmp_path / name) == size


DURATIONS = st.timedeltas(timedelta(0), timedelta(days=99)) | st.timedeltas(
    timedelta(0), timedelta(minutes=30)
)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**9),
            st.none() | st.integers(0, 10**12),
            st.none() | st.tuples(DURATIONS, st.sampled_from(["pandas", "clock", "slurm"])),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_exports_agree_with_the_csv_module(tmp_path_factory, drawn):
    table = tmp_path_factory.mktemp("d") / "512_512.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "slurm_id", "elapsed"])
        for scan, slurm, elapsed in drawn:
            writer.writerow([scan, "" if slurm is None else slurm, spelt(elapsed)])
    rows = read(table).rows("distiller.job")
    assert [(r["scan_id"], r["slurm_id"]) for r in rows] == [(s, j) for s, j, _ in drawn]
    for row, (_, _, elapsed) in zip(rows, drawn, strict=True):
        # exactly: a limit may be equal to it
        expected = None if elapsed is None else elapsed[0].total_seconds()
        assert row["elapsed_s"] == expected


def spelt(elapsed) -> str:
    if elapsed is None:
        return ""
    value, form = elapsed
    whole, micros = divmod(value.seconds * 1_000_000 + value.microseconds, 1_000_000)
    hours, minutes, seconds = whole // 3600, whole // 60 % 60, whole % 60
    fraction = f".{micros:06d}" if micros else ""
    if form == "clock":
        return f"{hours + 24 * value.days:02d}:{minutes:02d}:{seconds:02d}{fraction}"
    clock = f"{hours:02d}:{minutes:02d}:{seconds:02d}{fraction}"
    return f"{value.days} days {clock}" if form == "pandas" else f"{value.days}-{clock}"


def test_exports_below_a_directory(tmp_path):
    """Given exports of one name in two directories below, then both are read, each as itself."""
    for name in ("2022/128_128.csv", "2023/spring/128_128.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"id,slurm_id,elapsed\n{len(name)},2,00:00:01\n")
    (tmp_path / "2023" / "other.csv").write_text("a,b\n1,2\n")
    found = read(tmp_path)
    assert sorted(r["scan_id"] for r in found.rows("distiller.job")) == [16, 23]
    assert found.filtered == {OTHER: 1}


def test_a_table_merged_with_the_accounting(tmp_path):
    """Given pandas' merge of both tables, then its rows that have a scan are jobs of Distiller."""
    table = tmp_path / "merged_job_info.csv"
    table.write_text(
        ",Job Name,Job ID,Elapsed,id,elapsed,size\n"
        "0,distiller-count-2320,3078555,00:19:38,3288.0,0 days 00:19:38,1024.0\n"
        "1,distiller-count-2318,3055478,00:10:40,,,\n"
        "2,distiller-count-7,3055480,00:00:40,12.0,,512x256\n"
        "3,distiller-count-8,3055481,00:00:41,13.0,0 days 00:00:41,\n"
    )
    assert DistillerSource.detect(table).confidence < 0.7  # sacct's rows are the whole of it
    found = read(table)
    rows = found.rows("distiller.job")
    assert [(r["scan_id"], r["slurm_id"], r["elapsed_s"], r["scan_size"]) for r in rows] == [
        (3288, 3078555, 1178.0, "1024x1024"),
        (12, 3055480, None, "512x256"),
        (13, 3055481, 41.0, None),
    ]
    assert ("Job Name", "distiller-count-2320") in rows[0]["extra"]
    assert found.filtered == {"a job that Distiller does not know": 1}
    assert not found.notes


def test_places_without_exports_are_errors(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        list(DistillerSource(str(tmp_path / "absent")).plan())
    with pytest.raises(SourceError, match="no CSV file in it or below"):
        list(DistillerSource(str(tmp_path)).plan())
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match="does not have the columns id, slurm_id, elapsed"):
        read(other)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("postgresql://u:pw@host:5432/db", "postgresql://u@host:5432/db"),
        ("postgres://u:p@w:x/y@host/db?sslmode=require", "postgres://u@host/db?sslmode=require"),
        ("postgresql://u@host/db?password=pw&x=1", "postgresql://u@host/db?password=***&x=1"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql:///db?host=/tmp&user=me@here", "postgresql:///db?host=/tmp&user=me@here"),
        # it names where the password is kept, which only its owner can read
        (
            "postgresql://u@host/db?passfile=/h/u/.pgpass",
            "postgresql://u@host/db?passfile=/h/u/.pgpass",
        ),
        ("postgresql://u:p?w@host/db", "postgresql://u@host/db"),
        ("128_128.csv", "128_128.csv"),
    ],
)
def test_locations_are_shown_without_secrets(uri, shown):
    assert redact(uri) == shown
    assert DistillerSource.redact(uri) == shown


@given(
    st.text(
        st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="*"),
        min_size=4,
        max_size=20,
    )
)
def test_no_password_survives_redaction(password):
    from urllib.parse import quote

    encoded = f"postgresql://user:{quote(password, safe='')}@localhost:5432/distiller"
    assert redact(encoded) == "postgresql://user@localhost:5432/distiller"
    assert password in secrets(encoded)
    assert password not in scrub(f"failed: {password}!", secrets(encoded)).replace("***", "")


def test_real_samples(shared_data):
    folder = shared_data / "ncem"
    for name, size in {"128_128.head.csv": "128x128", "1024_1024.head.csv": "1024x1024"}.items():
        assert DistillerSource.detect(folder / name).confidence > 0.9
        found = read(folder / name)
        assert {r["scan_size"] for r in found.rows("distiller.job")} == {size}
        with (folder / name).open(newline="") as file:
            expected = [
                (int(row["id"]), int(row["slurm_id"]) if row["slurm_id"] else None)
                for row in csv.DictReader(file)
            ]
        rows = found.rows("distiller.job")
        assert [(r["scan_id"], r["slurm_id"]) for r in rows] == expected
    for name in (
        "ncem_file_created_times.head.csv",
        "scan_times_2709_3688.head.csv",
        "slurm_job_info.head.csv",
        "write_times.head.csv",
    ):
        assert DistillerSource.detect(folder / name) is None


# --- exports without a header ---------------------------------------------------------------------

ROWS = [f"{number},582506{number},00:04:{number}" for number in range(10, 30)] + [
    "1928,,",
    "1929,58248564.0,1 days 00:19:38",
    "soon,1,00:00:01",
]


def kept(found):
    names = ("scan_id", "slurm_id", "elapsed_s", "scan_size", "extra")
    rows = [tuple(row[name] for name in names) for row in found.rows("distiller.job")]
    return rows, [(reject.raw, reject.reason) for reject in found.rejects]


@pytest.mark.parametrize("index", [False, True])
def test_an_export_gives_the_same_rows_without_its_header_and_compressed(tmp_path, index):
    header = ",id,slurm_id,elapsed" if index else "id,slurm_id,elapsed"
    rows = [f"{number},{row}" for number, row in enumerate(ROWS)] if index else ROWS
    (tmp_path / "whole").mkdir()
    whole, cut = tmp_path / "whole" / "128_128.csv", tmp_path / "128_128.csv.bz2"
    whole.write_text("\n".join([header, *rows]) + "\n")
    cut.write_bytes(bz2.compress(("\n".join(rows) + "\n").encode()))
    # when both are read
    expected, found = read(whole), read(cut)
    # then only the lines' numbers differ, and what was assumed is said
    assert kept(found) == kept(expected)
    assert len(kept(found)[0]) == len(ROWS) - 1
    assert found.rows("distiller.job")[0]["position"] == 1
    assert any("the one known order that its first lines fit (22 of 23)" in n for n in found.notes)
    assert not any("no header" in note for note in expected.notes)
    detected = DistillerSource.detect(cut)
    assert 0.5 <= detected.confidence < DistillerSource.detect(whole).confidence


def test_a_directory_reads_such_exports_and_counts_strangers(tmp_path):
    (tmp_path / "64_64.csv").write_text("\n".join(ROWS) + "\n")
    (tmp_path / "other.csv").write_text("1,2,2023-10-13 09:45:10\n")
    found = read(tmp_path)
    assert {row["scan_size"] for row in found.rows("distiller.job")} == {"64x64"}
    assert found.filtered == {OTHER: 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,2,259\n3,4,260\n", "0 of 2 looked at fit the order id, slurm_id, elapsed (line 1: "),
        ("scan,job,time\n1,2,00:04:19\n", "id, slurm_id, elapsed"),  # names of other columns
        ("1,2,\n3,4,\n", "nothing in its lines shows"),
        ("1,2,00:04:19\n1,2\n1,2,-1\n", "1 of 3 looked at fit"),
    ],
)
def test_lines_of_something_else_are_refused(tmp_path, text, why):
    path = tmp_path / "128_128.csv"
    path.write_text(text)
    assert DistillerSource.detect(path) is None
    with pytest.raises(SourceError) as caught:
        read(path)
    assert why in caught.value.message
