"""The views of the study on small datasets with known truth."""

import statistics
from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow as pa
import pytest

from harvest import ConfigError, UsageError
from harvest.model import record_type
from harvest_ncem.records import DataFile, ReceiverStatus
from harvest_ncem.study import Range, Size, Study, load_study, size_name
from harvest_ncem.views import clock_check, file_transfer, offload, streaming

START = datetime(2023, 10, 16, 15, 30, tzinfo=UTC)
TIME = pl.Datetime("us", "UTC")
JOBS = {
    **dict.fromkeys(("job_id", "name", "user", "qos", "state"), pl.String),
    **dict.fromkeys(("job_id_raw", "req_nodes"), pl.Int64),
    **dict.fromkeys(("exit_code", "exit_signal"), pl.Int32),
    **dict.fromkeys(("submit_time", "start_time", "end_time"), TIME),
    **dict.fromkeys(("elapsed_s", "timelimit_s"), pl.Float64),
}
DISTILLER = dict.fromkeys(("scan_id", "slurm_id"), pl.Int64)
DISTILLER |= {"elapsed_s": pl.Float64, "scan_size": pl.String}


class Dataset(dict):
    """Frames by record type: as much of a dataset as a view asks for."""

    notes: tuple[str, ...] = ()
    __hash__ = object.__hash__


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def dataset(statuses=(), files=(), jobs=None, distiller=None) -> Dataset:
    """Statuses as (scan, receiver, second, uuid), files as (kind, scan, second, more)."""
    told = [
        {"scan_number": s, "receiver": r, "time": at(t), "recorded_time": at(t), "uuid": u}
        for s, r, t, u in statuses
    ]
    left = [{"kind": k, "scan_number": s, "modify_time": at(t), **more} for k, s, t, more in files]
    found = Dataset()
    for cls, rows in ((ReceiverStatus, told), (DataFile, left)):
        kind = record_type(cls)
        fields = [f for f in kind.arrow_schema if f.name not in ("extra", "origin", "position")]
        schema = pa.schema([f.with_nullable(True) for f in fields])
        found[kind.name] = pl.from_arrow(pa.Table.from_pylist(rows, schema=schema)).lazy()
    if jobs is not None:
        found["slurm.job"] = pl.LazyFrame(jobs, schema=JOBS)
    if distiller is not None:
        found["distiller.job"] = pl.LazyFrame(distiller, schema=DISTILLER, orient="row")
    return found


def rows(frame: pl.LazyFrame) -> list[dict]:
    return frame.collect().to_dicts()


def job(job_id, elapsed, **more):
    row = {"job_id": str(job_id), "name": "distiller-count-1", "qos": "realtime_m1"}
    row |= {"exit_code": 0, "exit_signal": 0, "req_nodes": 4, "elapsed_s": elapsed}
    times = {"submit_time": at(0), "start_time": at(1), "end_time": at(1 + (elapsed or 0))}
    return row | times | more


def test_offload_is_last_write_minus_earliest_receiver():
    # given three receivers (two tie) and two data files, listed in two copies of a table
    files = [("data", 7, 5.0, {}), ("data", 7, 6.25, {}), ("log", 7, 60.0, {})]
    data = dataset([(7, 0, 1.5, "a"), (7, 1, 1.0, "a"), (7, 3, 1.0, "a")], files * 2)
    (row,) = rows(offload.build(data))
    assert row["offload_s"] == 5.25
    assert (row["receivers"], row["first_receiver"], row["data_files"]) == (3, 1, 2)
    assert row["excluded"] is None


@pytest.mark.parametrize("per", ["scan", "range"])
def test_two_calls_give_the_same_last_digits_of_means(per):
    # given scans whose offloads have another sum in another order
    scans = range(1, 60)
    data = dataset(
        [(n, 0, n, None) for n in scans], [("data", n, n + 0.1 * n**2, {}) for n in scans]
    )
    first = offload.build(data, per=per).collect()
    assert all(offload.build(data, per=per).collect().equals(first) for _ in range(20))


def test_rows_of_one_scan_without_a_job_have_one_order():
    # given rows of Distiller that only their size and elapsed time tell apart
    untold = [(4, None, float(n % 7), f"{n % 5}x1") for n in range(60)]
    data = dataset(jobs=[], distiller=untold)
    first = file_transfer.build(data).collect()
    assert all(file_transfer.build(data).collect().equals(first) for _ in range(20))


def test_scans_that_do_not_count_stay_with_a_reason():
    data = dataset(
        [(0, 0, 1, None), (1, 0, 1, None), (2, 0, 1, None), (4, 0, 9, None), (9, 0, 1, None)],
        [("data", 0, 2, {}), ("data", 1, 2, {}), ("data", 3, 2, {}), ("data", 4, 8, {})],
    )
    study = Study(ranges=(Range(size="128x128", method="file_transfer", first=0, last=5),))
    found = {r["scan_number"]: r["excluded"] for r in rows(offload.build(data, study))}
    assert found == {
        0: "scan number 0 is bogus",
        1: None,
        2: "no data file",
        3: "no receiver time",
        4: "last written before the first receiver time",
        9: "in no scan range for file_transfer",
    }


def test_an_overridden_scan_is_two_takes():
    # given scan 7 twice, an hour apart, and files of both
    data = dataset(
        [(7, 0, 0, "a"), (7, 1, 1, "a"), (7, 0, 3600, "b"), (7, 1, 3602, "b")],
        [("data", 7, 10, {}), ("data", 7, 3630, {})],
    )
    found = rows(offload.build(data))
    assert [(r["take"], r["uuid"], r["offload_s"]) for r in found] == [(1, "a", 10), (2, "b", 30)]


def test_uuids_that_no_two_receivers_share_do_not_part_a_scan():
    data = dataset(
        [(7, 0, 0, "a"), (7, 1, 1, "b"), (7, 2, 2, "c"), (7, 0, 900, "d"), (7, 1, 901, "e")]
    )
    found = rows(clock_check.build(data))
    assert [(r["take"], r["receivers"], r["spread_s"]) for r in found] == [(1, 3, 2), (2, 2, 1)]


def test_a_table_that_repeats_the_statuses_adds_no_scan():
    # given the JSONs, and the CSV table that was made from them to the second
    data = dataset([(7, 0, 0.25, "a"), (7, 1, 1.75, "a"), (7, 0, 0.0, None), (7, 1, 1.0, None)])
    # the table's recorded second is that of the statuses
    found = rows(clock_check.build(data))
    assert [(r["uuid"], r["receivers"], r["spread_s"]) for r in found] == [("a", 2, 1.5)]


def test_streaming_matches_files_to_scans():
    study = Study(ranges=(Range(size="128x128", method="streaming", first=1, last=10),))
    data = dataset(
        [(1, 0, 0, "a"), (2, 0, 0, "b"), (2, 0, 500, "c"), (3, 0, 0, None), (20, 0, 0, None)],
        [
            ("h5", 1, 9, {"distiller_id": 5}),
            ("h5", 1, 30, {"distiller_id": 5, "suffix": "centered"}),
            ("h5", 2, 510, {"distiller_id": 6, "uuid": "B"}),
            ("h5", 2, 520, {"distiller_id": 7}),
            ("h5", 2, 530, {"distiller_id": 8, "uuid": "zz"}),
            ("h5", 4, 9, {"distiller_id": 9}),
            ("h5", 20, 9, {"distiller_id": 10}),
            ("data", 1, 3, {}),
        ]
        * 2,  # from two copies of a table
    )
    found = [
        (r["scan_number"], r["take"], r["distiller_id"], r["duration_s"], r["excluded"])
        for r in rows(streaming.build(data, study))
    ]
    assert found == [
        (1, 1, 5, 9.0, None),
        (1, 1, 5, 30.0, "derived file: centered"),
        (2, 1, 6, 510.0, None),
        (2, 2, 7, 20.0, None),
        (2, 2, 8, 30.0, "its UUID is that of another take"),
        (3, 1, None, None, "no HDF5 file"),
        (4, 1, 9, None, "no receiver time"),
        (20, 1, 10, 9.0, "in no scan range for streaming"),
    ]


def test_of_several_files_of_a_scan_the_first_written_counts():
    data = dataset(
        [(1, 0, 10, None), (2, 0, 10, None)],
        [
            ("h5", 1, 40, {"distiller_id": 5}),
            ("h5", 1, 30, {"distiller_id": 6}),
            ("h5", 1, 20, {"distiller_id": 0}),
            ("h5", 2, 5, {"distiller_id": 7}),
        ],
    )
    found = {r["distiller_id"]: r["excluded"] for r in rows(streaming.build(data))}
    assert found == {
        0: "no Distiller id",
        6: None,
        5: "another file of this scan was written earlier",
        7: "written before the first receiver time",
    }


def test_a_median_offset_equal_to_the_threshold_is_synchronised():
    # given offsets of 0.001 and 1.008 s, whose mean is 0.5045000000000001 in floats
    data = dataset([(1, 0, 0.0, "a"), (1, 1, 0.002, "a"), (2, 0, 60.0, "b"), (2, 1, 62.016, "b")])

    found = rows(clock_check.build(data, per="receiver", threshold="504500us"))

    assert [r["median_offset_s"] for r in found] == [-0.5045, 0.5045]
    assert not any(r["unsynchronised"] for r in found)


def test_a_uuid_in_two_spellings_names_the_first_of_its_takes():
    plain = "0a1b2c3d000140008000000000000001"
    spelt = "0A1B2C3D-0001-4000-8000-000000000001"
    told = [(1, r, t, uuid) for uuid, t in ((spelt, 60), (plain, 0)) for r in (0, 1)]
    (found, _) = rows(streaming.build(dataset(told, [("h5", 1, 90, {"uuid": spelt})])))
    assert (found["take"], found["duration_s"]) == (1, 90)


def test_clock_check_flags_what_is_apart():
    data = dataset(
        [
            *((1, r, t, None) for r, t in enumerate([0.0, 0.5, 1.0, 90.0])),
            *((2, r, 10.0 + t, None) for r, t in enumerate([0.0, 0.5, 1.0, 0.5])),
            (3, 2, 5, None),
            (0, 0, 0, None),
            (0, 1, 9e4, None),
        ]
    )
    bogus, apart, together, alone = rows(clock_check.build(data))
    assert bogus["excluded"] == "scan number 0 is bogus"
    assert (apart["spread_s"], apart["unsynchronised"], apart["worst_receiver"]) == (90.0, True, 3)
    assert (apart["offset0_s"], apart["offset3_s"]) == (-0.75, 89.25)
    assert (together["spread_s"], together["unsynchronised"]) == (1.0, False)
    assert (alone["unsynchronised"], alone["excluded"]) == (None, "fewer than two receivers")
    # a threshold that is given overrides the default of 2 s
    assert rows(clock_check.build(data, threshold="500ms"))[2]["unsynchronised"]
    per = {r["receiver"]: r for r in rows(clock_check.build(data, per="receiver"))}
    assert per[3]["median_offset_s"] == statistics.median([89.25, 0.0])
    assert (per[3]["unsynchronised"], per[0]["unsynchronised"]) == (True, False)
    # no one offset brings both scans of receiver 3 to 0
    assert per[3]["suggested_clock_offset_s"] is None
    assert per[0]["suggested_clock_offset_s"] == -per[0]["median_offset_s"]


def test_one_late_scan_of_ten_leaves_an_offset_steady():
    told = [(n, r, 100 * n + (60 if n == r == 2 else 0)) for n in range(1, 11) for r in range(3)]
    data = dataset((scan, receiver, second, None) for scan, receiver, second in told)
    *_, late = rows(clock_check.build(data, per="receiver"))
    assert (late["n_beyond"], late["suggested_clock_offset_s"]) == (1, 0)
    assert not late["unsynchronised"]


def test_file_transfer_adds_offload_and_subtracts_saving():
    study = Study(
        ranges=(Range(size="128x128", method="file_transfer", first=1, last=2),),
        sizes={
            "128x128": Size(data_gb=10.9, save_correction_s=1.0),
            "256x256": Size(data_gb=43.5, offload_s=7.5),
        },
    )
    data = dataset(
        [(1, 0, 0, None), (2, 0, 10, None)],
        [("data", 1, 3, {}), ("data", 2, 14, {})],
        [job(101, 60.0), job(102, 70.0)],
        [(5, 101, 60.0, "128x128"), (6, 102, 71.0, "256x256")],
    )
    first, second = rows(file_transfer.build(data, study))
    assert (first["offload_s"], first["save_correction_s"]) == (3.5, 1.0)
    assert first["duration_s"] == 60.0 + 3.5 - 1.0
    assert (second["offload_s"], second["duration_s"], second["data_gb"]) == (7.5, 77.5, 43.5)
    off = rows(file_transfer.build(data, study, save_correction=False))
    assert off[0]["duration_s"] == 63.5


def test_jobs_and_rows_without_a_counting_partner_say_why():
    data = dataset(
        jobs=[
            job(1, 60.0),
            job(2, 2000.0),
            job(3, 60.0),
            job(3, 90.0, submit_time=at(100)),  # requeued: the last run counts
            job(4, 0.0, start_time=None),
            job(5, 60.0, exit_code=1),
            job(6, 60.0, name="other"),
            job(7, 60.0),
            job(8, 60.0),
            job("9_1", 60.0, job_id_raw=9),
            job(10, 60.0),
        ],
        distiller=[
            (1, 1, 60.0, "128x128"),
            (1, 1, 60.0, "128x128"),  # the same row in two exports
            (2, 2, 2000.0, "128x128"),
            (3, 3, 90.0, "128x128"),
            (4, 4, 5.0, "128x128"),
            (5, 5, 60.0, "128x128"),
            (7, 77, 60.0, "128x128"),
            (7, None, None, "128x128"),
            (8, 8, None, "128x128"),
            (10, 10, 60.0, None),
        ],
    )
    study = Study(
        sizes={"128x128": Size(data_gb=10.9, offload_s=0.0)},
        max_elapsed_s=1740.0,
        jobs={"name_contains": "distiller", "exit_code": 0},
    )
    found = [
        (r["job_id"], r["scan_id"], r["excluded"]) for r in rows(file_transfer.build(data, study))
    ]
    assert found == [
        (1, 1, None),
        (1, 1, "repeated in Distiller's rows"),
        (2, 2, "elapsed longer than 29.0 min"),
        (3, 3, "a later row of this job counts"),
        (3, 3, None),
        (4, 4, "never started"),
        (5, 5, "the study's filter on exit code"),
        (7, None, "unknown to Distiller"),
        (8, 8, "Distiller knows no elapsed time"),
        (9, None, "unknown to Distiller"),
        (10, 10, "size unknown"),
        (77, 7, "no such job in the accounting"),
        (None, 7, "no Slurm id in Distiller"),
    ]
    by_setting = rows(file_transfer.build(data, study, max_elapsed="10s"))
    assert by_setting[0]["excluded"] == "elapsed longer than 10 s"


@pytest.mark.parametrize(
    ("lacks", "reason"),
    [
        ({"name": None}, "the study's filter on name, which is unknown"),
        ({"exit_code": None}, "the study's filter on exit code, which is unknown"),
        ({"exit_code": None, "name": "other"}, "the study's filter on name"),
        ({"start_time": None}, "start unknown"),
        ({"elapsed_s": None}, "elapsed time unknown"),
    ],
)
def test_a_job_of_which_something_is_not_known_is_not_said_to_be_wrong(lacks, reason):
    study = Study(
        sizes={"128x128": Size(data_gb=10.9, offload_s=0.0)},
        jobs={"name_contains": "distiller", "exit_code": 0},
    )
    lacks = {"elapsed_s": 60.0} | lacks
    data = dataset(
        jobs=[job(1, lacks.pop("elapsed_s"), **lacks)], distiller=[(1, 1, 60.0, "128x128")]
    )

    (found,) = rows(file_transfer.build(data, study))

    assert (found["excluded"], found["duration_s"] is None) == (reason, reason.startswith("el"))


def test_a_duration_without_an_offload_is_not_known():
    """Nothing is added for what nobody measured, not even 0."""
    data = dataset(jobs=[job(1, 60.0)], distiller=[(1, 1, 60.0, "128x128")])
    given = Study(sizes={"128x128": Size(data_gb=10.9, offload_s=0.0)})

    (unknown,) = rows(file_transfer.build(data, Study()))
    (known,) = rows(file_transfer.build(data, given))

    reason = "the study gives no offload for this size"
    assert (unknown["duration_s"], unknown["excluded"]) == (None, reason)
    assert (known["duration_s"], known["excluded"]) == (60.0, None)


def test_a_record_type_that_is_not_known_names_its_plugin():
    with pytest.raises(UsageError, match="install hpc-harvest-slurm"):
        file_transfer.build(dataset())


@pytest.mark.parametrize(
    ("view", "setting"),
    [(clock_check, {"threshold": "soon"}), (file_transfer, {"max_elapsed": "29"})],
)
def test_wrong_settings_are_usage_errors(view, setting):
    with pytest.raises(UsageError):
        view.build(dataset(jobs=[], distiller=[]), **setting)


def test_a_study_is_read_from_toml(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        """
        [study]
        name = "two sizes"
        [detector]
        pixels = [576, 576]
        [file_transfer]
        max_elapsed = "29m"
        qos_contains = "realtime_"
        [clock_check]
        threshold = "1500ms"
        [sizes.128x128]
        subtract_save_time = { real = 0.75, blank = "250ms" }
        [sizes.1024]
        data_gb = 695
        [[range]]
        size = "128_128"
        method = "streaming"
        scans = [2709, 3688]
        """
    )
    study = load_study(str(path))
    assert study.max_elapsed_s == 1740.0
    assert study.clock_threshold_s == 1.5
    assert study.sizes["128x128"].save_correction_s == 1.0
    assert study.sizes["128x128"].data_gb == 128 * 128 * 576 * 576 * 2 / 1e9
    assert study.sizes["1024x1024"].data_gb == 695
    assert study.ranges == (Range(size="128x128", method="streaming", first=2709, last=3688),)


STREAMED = "[[range]]\nsize='128'\nmethod='streaming'\nscans="


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[file_transfer]\nmax_elapsd = 3", "file_transfer.max_elapsd is unknown"),
        ("[file_transfer]\nmax_elapsed = '29'", "file_transfer.max_elapsed: '29' is not a dura"),
        ("[[range]]\nsize='128'\nscans=[1,2]", "range 1.method is missing"),
        (f"{STREAMED}[1,2]".replace("streaming", "copy"), "method: 'copy' is not one of streaming"),
        (f"{STREAMED}[1,2]".replace("128", "big"), "'big' is not a scan size"),
        (f"{STREAMED}[3,2]", "3 comes after 2"),
        (f"{STREAMED}[3,{2**64}]", f"3 to {2**64} are more than 1,000,000 scans"),
        (f"{STREAMED}[1,5]\n{STREAMED}[5,9]", "overlap"),
        ("[sizes.128]\nsubtract_save_time={real=1}", "subtract_save_time.blank is missing"),
        ("[sizes.128]\n[sizes.128x128]", "described twice"),
        ("range = 5", "range must be an array"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_wrong_study_names_file_and_key(tmp_path, text, message):
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_study(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_a_study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("[study]\nname = 'x'\n", encoding="utf-8-sig")
    assert load_study(path).name == "x"


def test_an_absent_study_is_told(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_study(tmp_path / "absent.toml")


@pytest.mark.parametrize("text", ["128", 128, "128_128", "128 x 128", "128x128", "0128x128"])
def test_a_size_has_one_spelling(text):
    assert size_name(text) == "128x128"
