"""Forms in which people bring sacct's text: cut tables, tables of pandas and R, any delimiter."""

import string
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import read_dump

from harvest import SourceError
from harvest_slurm.source import SlurmSource

harvest = partial(read_dump, timezone="UTC")


# --- tables of fixed widths ------------------------------------------------------------------

TABLE = """\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- 
1234567      run_model+       main       acc1          4 OUT_OF_ME+    0:125 
1234567.bat+      batch                  acc1          4 OUT_OF_ME+    0:125 
1234567.ext+     extern                  acc1          4  COMPLETED      0:0 
1234567.int+ interacti+                  acc1          4  COMPLETED      0:0 
1234567.0    planczos.x                  acc1          4  COMPLETED      0:0 
12345678_1.+      batch                  acc1          4  COMPLETED      0:0 
654321_23.b+      batch                  acc2          1  COMPLETED      0:0 
654321_23.e+     extern                  acc2          1  COMPLETED      0:0 
"""  # noqa: W291 - as sacct prints it


@pytest.mark.parametrize("end", [" \n", "\n"], ids=["whole", "its last blank is missing"])
def test_steps_and_states_that_a_table_cuts(tmp_path: Path, end: str) -> None:
    lines = TABLE.splitlines(keepends=True)
    unclear = lines.pop(7)  # .+ may be batch, or a number
    text = "".join(lines).removesuffix(" \n") + end
    found = harvest(tmp_path / "dump.txt", text)
    assert not found.rejects
    (job,) = found.rows("slurm.job")
    assert (job["job_id"], job["state"], job["alloc_cpus"]) == ("1234567", "out_of_memory", 4)
    rows = found.rows("slurm.step")
    assert [f"{row['job_id']}.{row['step_id']}" for row in rows] == [
        "1234567.batch", "1234567.extern", "1234567.interactive", "1234567.0",
        "654321_23.batch", "654321_23.extern",
    ]  # fmt: skip
    assert [row["state"] for row in rows] == ["out_of_memory"] + ["completed"] * 5
    assert [row["alloc_cpus"] for row in rows] == [4] * 4 + [1] * 2
    (reject,) = harvest(tmp_path / "dump.txt", text + unclear).rejects
    assert reject.reason == "JobID: '12345678_1.+': no job id of a form that Slurm prints"


# --- tables of pandas and R ------------------------------------------------------------------


AMOUNTS = ("elapsed_s", "alloc_cpus", "nodes", "cpu_time_s", "timelimit_s")


@pytest.mark.parametrize("nothing", ["", "NaN", "nan", "<NA>", "NaT", "NA"])
def test_numbers_of_pandas_and_r(tmp_path: Path, nothing: str) -> None:
    found = harvest(
        tmp_path / "dump.csv",
        "JobID,State,ElapsedRaw,AllocCPUS,NNodes,CPUTimeRAW,TimelimitRaw,Start,MaxRSS,ExitCode\n"
        "1,COMPLETED,3600.0,4.0,1.0,14400.0,60.0,2024-01-01 10:00:00,,0:0\n"
        f"2,RUNNING,{nothing},4.0,{nothing},{nothing},1.5,{nothing},{nothing},{nothing}\n"
        f"3,{nothing},1e+05,2,1,1.25e+06,{nothing},{nothing},,0:0\n",
    )
    assert not found.rejects
    rows = found.rows("slurm.job")
    assert {name: [row[name] for row in rows] for name in (*AMOUNTS, "state", "exit_code")} == {
        "elapsed_s": [3600, None, 100_000],
        "alloc_cpus": [4, 4, 2],
        "nodes": [1, None, 1],
        "cpu_time_s": [14_400, None, 1_250_000],
        "timelimit_s": [3600, 90, None],
        "state": ["completed", "running", None],
        "exit_code": [0, None, 0],
    }
    assert [row["start_time"] is None for row in rows] == [False, True, True]
    assert "NaN" not in str(rows)


def test_a_size_of_no_form_of_slurm_is_called_that(tmp_path: Path) -> None:
    # 12 EiB are more than a number of 64 bits holds
    found = harvest(tmp_path / "dump.txt", "JobID|State|ReqMem\n1|FAILED|1e5\n2|FAILED|12e\n")
    (reject,), (row,) = found.rejects, found.rows("slurm.job")
    assert reject.reason == "ReqMem: '1e5': no size of the form NUMBER[KMGTPE][cn]"
    assert dict(row["extra"]) == {"ReqMem": "12e"}


# --- delimiters of dumps without a header ----------------------------------------------------

COLUMNS = ("JobID", "JobName", "User", "State", "ExitCode", "Elapsed", "Start")
marks = st.one_of(
    st.sampled_from(["||", "::", ";|;", "~~sep~~", "¦", "þ", "§", "→", "\x1f", "\t", "::|", "µ"]),
    st.text(st.sampled_from(string.punctuation + "§¶»þ¦"), min_size=1, max_size=4),
).filter(lambda mark: not set(mark) & set('-:+."_\\'))


@given(marks, st.booleans(), st.integers(1, 12))
def test_any_delimiter_of_a_dump_without_a_header_is_found(
    mark: str, trailing: bool, count: int
) -> None:
    made = [
        [str(n), f"job{n}", "ann", "FAILED", f"{n}:0", f"00:00:{n:02}", "2024-05-01T08:00:00"]
        for n in range(1, count + 1)
    ]
    end = mark if trailing else ""
    text = "".join(mark.join(row) + end + "\n" for row in made)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.txt"
        found = harvest(path, text, columns=COLUMNS)
        likely = SlurmSource.detect(path)
    assert not found.rejects
    assert [
        [row["job_id"], row["name"], row["user"], row["exit_code"], row["elapsed_s"]]
        for row in found.rows("slurm.job")
    ] == [[row[0], row[1], row[2], n, float(n)] for n, row in enumerate(made, 1)]
    assert likely is not None


def test_commas_in_lists_of_nodes_and_resources(tmp_path: Path) -> None:
    """As ``tr '|' ','`` or ``--delimiter=,`` writes them."""
    text = (
        "JobID,JobName,State,AllocTRES,Elapsed,NodeList\n"
        "1,a,FAILED,cpu=4,mem=8G,node=2,00:00:05,n1\n"
        "2,b,FAILED,,00:00:06,n[1-3,5]\n3,c,FAILED,cpu=1,00:00:07,n1,n2\n"
    )
    found = harvest(tmp_path / "dump.csv", text)
    assert not found.rejects
    assert [row["node_list"] for row in found.rows("slurm.job")] == ["n1", "n[1-3,5]", "n1,n2"]
    assert [row["elapsed_s"] for row in found.rows("slurm.job")] == [5, 6, 7]
    assert found.rows("slurm.job")[0]["alloc_tres"] == [("cpu", 4), ("mem", 2**33), ("node", 2)]


# --- headers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "JobName|State|User\na|FAILED|ann\n",
        "    ReqMem     MaxRSS \n---------- ---------- \n   10000Mn    412420K \n",
    ],
)
def test_a_header_without_ids_is_called_that_by_detect_too(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dump.txt"
    with pytest.raises(SourceError, match="no column JobID among"):
        harvest(path, text)
    found = SlurmSource.detect(path)
    assert found is not None
    assert found.confidence == 0.4
    assert "a header of sacct, but no column JobID among" in found.reason


def test_a_header_that_begins_with_a_hash(tmp_path: Path) -> None:
    found = harvest(tmp_path / "dump.txt", "#jobid\tstate\telapsed\n12\tFAILED\t00:00:05\n")
    (row,) = found.rows("slurm.job")
    assert (row["job_id"], row["elapsed_s"]) == ("12", 5)


OTHERS = {
    "squeue": "             JOBID PARTITION     NAME     USER ST       TIME  NODES "
    "NODELIST(REASON)\n                18      test    still     root  R       3:57      1 n1\n",
    "squeue -l": "Tue Jan 02 03:04:05 2024\n             JOBID PARTITION     NAME     USER    STATE"
    "       TIME TIME_LIMI  NODES NODELIST(REASON)\n   18  test  x  root  RUNNING  3:57  1 n1\n",
    "squeue -o": "JOBID|NAME|USER|STATE|TIME\n7|held|ann|PENDING|0:00\n",
    "sinfo": "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ndebug*  up  1:00  2  idle n1\n",
    "sinfo -N": "NODELIST   NODES PARTITION       STATE CPUS\nn1    1     test*   mixed 4\n",
    "sshare": "Account                    User  RawShares  NormShares    RawUsage  FairShare \n"
    "-------------------- ---------- ---------- ----------- ----------- ---------- \n",
    "sreport": f"{'-' * 80}\nCluster/Account/User Utilization 2024-01-01T00:00:00\n"
    f"Usage reported in CPU Minutes\n{'-' * 80}\n",
    "sreport -P": "Cluster|Account|Login|Proper Name|Used|Energy\nc1|root|||12345|0\n",
    "sacctmgr": "Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|\nc1|root|||1||||\n",
    "sacctmgr show user": "      User   Def Acct     Admin \n---------- ---------- --------- \n",
    "sstat": "JobID         MaxVMSize  MaxVMSizeNode  MaxVMSizeTask \n"
    "------------ ---------- -------------- -------------- \n18.batch  145792K  n1  0\n",
    "scontrol": "JobId=18 JobName=still-running\n   UserId=root(0) GroupId=root(0)\n",
    "seff": "Job ID: 123\nCluster: c\nUser/Group: a/b\nCPU Efficiency: 10.00% of 00:00:10\n",
}


@pytest.mark.parametrize("command", OTHERS)
def test_what_other_commands_print_is_refused_by_their_name(tmp_path: Path, command: str) -> None:
    path = tmp_path / "dump.txt"
    with pytest.raises(SourceError, match=f"this is the output of {command.split()[0]}, ") as error:
        harvest(path, OTHERS[command])
    assert "sacct -a -P -S 2024-01-01 --format=JobID," in error.value.message
    assert SlurmSource.detect(path) is None


# --- contradictions --------------------------------------------------------------------------


def test_rows_that_contradict_themselves_are_counted(tmp_path: Path) -> None:
    text = (
        "JobID|State|NCPUS|AllocTRES|ElapsedRaw|Elapsed\n"
        "1|COMPLETED|108|cpu=100,node=2|5|00:00:05\n"
        "2|COMPLETED|4|cpu=4,node=1|5|00:00:05\n"
        "2.0|COMPLETED|8|cpu=4,node=1|5|00:00:05\n"
        "3|PENDING|4||7|00:00:06\n"
    )
    found = harvest(tmp_path / "dump.txt", text)
    assert found.notes == [
        "Elapsed and ElapsedRaw contradict each other in 1 row, the first is job 3, line 5: "
        "6.0 and 7.0; Elapsed counts",
        "AllocTRES (cpu) and NCPUS contradict each other in 2 rows, the first is job 1, line 2: "
        "100 and 108; AllocTRES (cpu) counts",
    ]


def test_numbers_that_sacct_rounds_contradict_nothing(tmp_path: Path) -> None:
    text = "JobID|State|ConsumedEnergyRaw|ConsumedEnergy\n1|COMPLETED|1521|1.52K\n"
    assert harvest(tmp_path / "dump.txt", text).notes == []
