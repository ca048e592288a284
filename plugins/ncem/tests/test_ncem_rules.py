"""Rules on a study, each with rows that make it speak and rows that just do not."""

import statistics

import polars as pl
import pytest
from faulty_study import STUDY, took, write_study

import harvest
from harvest_ncem.rules import RULES
from harvest_testing import judge

BY_NAME = {rule.name: rule for rule in RULES}


def spoken(name: str, rows: dict[str, list], **thresholds: float) -> list[tuple[str, str]]:
    """What a rule says of rows of its view."""
    found = judge(BY_NAME[name], pl.DataFrame(rows), **thresholds)
    return [(f.finding.severity, f.finding.text) for f in found]


APART = {"receiver": [0, 1, 2], "median_offset_s": [2.0, -2.5, 0.1], "n": [10, 1200, 12]}
APART |= {"low_offset_s": [2.0, -4.5, 0.0], "high_offset_s": [2.0, -0.5, 0.1], "n_zone": 0}
APART |= {"n_beyond": [0, 12, 0], "suggested_clock_offset_s": [-2.0, 2.5, -0.1]}
UNSTEADY = {"receiver": 1, "median_offset_s": 0.5, "low_offset_s": -1083.5, "high_offset_s": 3.0}
UNSTEADY |= {"n": [49], "n_zone": 0, "n_beyond": 49, "suggested_clock_offset_s": None}
SPREAD = {"scan_number": [0, 7, 8, 9], "take": [1, 1, 1, 2], "worst_receiver": [0, 1, 2, 3]}
SPREAD |= {"clock_spread_s": [99.0, 2.0, 2.1, 4.0], "worst_offset_s": [99.0, 1.0, 1.1, 3.0]}
MISSING = {"scan_number": [0, 7, 8], "take": 1, "receivers": [1, 4, 3], "first_receiver_time": None}
COARSE = {"size": ["128x128", "256x256"], "method": "streaming", "n": 3, "n_outliers": [1, 0]}
COARSE |= {"clock_step_s": 1.0, "warning": ["both quartiles are 3 s", None]}
SPOKEN = [
    ("ncem.clocks_apart", APART, {"seconds": 2.5}, "high",
     "Receiver 1: clock 2.5 s behind. Median of 1,200 scans, compared with all receivers; 2 s are "
     "allowed."),
    ("ncem.clocks_apart", UNSTEADY, {"seconds": 1084}, "high",
     "Receiver 1: clock not steady, from -1,083.5 to 3 s. Middle 80 % of 49 scans, compared with "
     "all receivers; 2 s are allowed."),
    # scan 0 is bogus
    ("ncem.scans_apart", SPREAD, {"seconds": 4}, "medium",
     "2 of 3 scans: receivers disagree by more than 2 s. Largest difference: 4 s, in scan 9."),
    ("ncem.receivers_missing", MISSING, {"receivers": 3}, "medium",
     "1 of 2 scans have fewer than 4 receiver statuses. Fewest: 3. First and last times of these "
     "scans may be missing."),
    ("ncem.clock_too_coarse", COARSE, None, "medium",
     "128x128 by streaming: clock too coarse to tell outliers. Both quartiles are 3 s."),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "rows", "enough", "severity", "text"), SPOKEN)
def test_a_rule_says_what_is_beyond_its_threshold(rule, rows, enough, severity, text):
    assert spoken(rule, rows) == [(severity, text)]
    if enough:
        assert spoken(rule, rows, **enough) == []
    else:
        assert spoken(rule, rows | {"warning": [None, None]}) == []


@pytest.mark.parametrize(("others", "severity"), [(9, "low"), (8, "medium")])
def test_scans_that_are_left_out_are_counted_by_reason(others, severity):
    """One of ten weighs little, one of nine more."""
    rows = pl.DataFrame(
        {
            "scan_number": range(1, others + 2),
            "take": 1,
            "due": True,
            "n_streamed": 0,
            "n_unplaced": 0,
            "excluded": ["no data file"] + [None] * others,
            "first_receiver_time": None,
            "data_files": 0,
        }
    )
    found = judge(BY_NAME["ncem.scans_left_out"], rows)

    assert [(f.finding.severity, f.finding.text) for f in found] == [
        (
            severity,
            f"1 of {others + 1} file-transfer scans left out of the offload. Reason: no data file.",
        )
    ]
    assert judge(BY_NAME["ncem.scans_left_out"], rows.tail(others)) == []


# ---- a study with known faults -------------------------------------------------------------------


@pytest.fixture(scope="module")
def faulty(tmp_path_factory) -> tuple[harvest.Dataset, str]:
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "in").mkdir()
    write_study(folder / "in")
    (folder / "study.toml").write_text(STUDY)
    harvest.run([f"ncem:{folder / 'in'}"], f"parquet:{folder / 'out'}", workers=1)
    return harvest.open(folder / "out"), str(folder / "study.toml")


def test_each_fault_of_a_study_is_found_and_nothing_else(faulty):
    dataset, study = faulty

    verdict = dataset.findings([rule.name for rule in RULES], study=study)

    found = {(f.rule.name, f.finding.severity, f.finding.text) for f in verdict.found}
    assert found == {
        ("ncem.wrong_zone", "high",
         "Receiver 2: time zone wrong by 7 h. Its times are 25,200 s behind in 21 of 21 scans; "
         "durations leave these times out."),
        ("ncem.scans_lost", "high",
         "2 of 20 streamed scans lost: no HDF5 file. First of them: scan 103."),
        ("ncem.scans_lost", "medium",
         "10 of 20 streamed scans left no file and no status. First of them: scan 111."),
        ("ncem.scans_lost", "high",
         "1 of 10 file-transfer scans lost: no data file. First of them: scan 202."),
        ("ncem.scans_stopped", "medium",
         "1 of 21 scans did not reach 100 %. They stopped early, or still ran when they were "
         "harvested. Lowest: 40 %, scan 105."),
        ("ncem.empty_files", "high",
         "1 of 17 scans have empty files. 1 file of 0 bytes. First of these scans: 106."),
        ("ncem.files_too_old", "medium",
         "1 of 17 scans have files older than the scan. The files were written before the first "
         "receiver time. First of these scans: 107."),
        ("ncem.scans_left_out", "low",
         "1 of 10 file-transfer scans left out of the offload. Reason: no data file. Besides, "
         "10 other scans were streamed and the study names no method for 1 scan."),
    }  # fmt: skip
    assert verdict.unjudged == ()


def test_a_wrong_zone_is_left_out_of_durations(faulty):
    """Seconds from receiver to file, in spite of a receiver that is seven hours early."""
    dataset, study = faulty

    streamed = dataset.view("ncem.streaming", study=study).collect()
    offloaded = dataset.view("ncem.offload", study=study, per="range").collect()

    counted = streamed.filter(pl.col("excluded").is_null())["duration_s"].to_list()
    # scans 101, 102, 105 and so on but for the file of 0 bytes; 201, 203 and so on
    assert counted == [took(place) for place in (0, 1, 4, 7, 8, 9)]
    mean = statistics.fmean(took(place) for place in (10, *range(12, 20)))
    assert (offloaded["n"].item(), offloaded["mean_s"].item()) == (9, mean)


def test_without_a_study_nothing_is_lost_or_left_out(faulty):
    """Nothing says which files a scan should have: the rules cannot judge, and find nothing."""
    dataset, _ = faulty

    verdict = dataset.findings(["ncem.scans_lost", "ncem.scans_left_out"])

    assert verdict.found == ()
    # the offload of scans with data files is complete; of the others nothing says that it is due
    assert [name for name, _ in (*verdict.unjudged, *verdict.partly)] == ["ncem.scans_left_out"]
    assert verdict.elsewhere == ("ncem.scans_lost",)


def test_what_tables_do_not_say_cannot_be_judged(tmp_path):
    """Tables of times have no progress and no sizes."""
    (tmp_path / "times.csv").write_text(
        "scan_number,time0,time1,time_last_written\n"
        "1,2024-03-01T10:00:00Z,2024-03-01T10:00:01Z,2024-03-01T10:00:09Z\n"
    )
    harvest.run([f"ncem:{tmp_path / 'times.csv'}"], f"parquet:{tmp_path / 'out'}", workers=1)

    verdict = harvest.open(tmp_path / "out").findings(["ncem.scans_stopped", "ncem.empty_files"])

    reasons = dict(verdict.unjudged)
    assert "harvest the status files" in reasons["ncem.scans_stopped"]
    assert "harvest the directories of the files" in reasons["ncem.empty_files"]
