"""Hosts, directives, software and settings of a job."""

import json

import pytest

from harvest import collect
from harvest_mofka_dask.source import MofkaDaskSource


def harvest(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    found = collect(MofkaDaskSource(str(path)))
    assert (found.units or 0) == found.accounted
    return found


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("SchedulerNode", "scheduler"),
        ("ClientNode", "client"),
        ("ConsumerNode", "consumer"),
        ("MofkaServerNode", "mofka_server"),
        ("WorkerNodes", "worker"),
    ],
)
def test_a_node_file_says_its_role(tmp_path, name, role):
    (node,) = harvest(tmp_path, name, "x3109c0s25b0n0.hsn.example.org").rows("run.node")
    assert (node["role"], node["host"]) == (role, "x3109c0s25b0n0.hsn.example.org")


def test_repeated_hosts_are_folded_and_bad_ones_rejected(tmp_path):
    found = harvest(tmp_path, "WorkerNodes", "n1\nn1\n\n# c\nn2 slots=4\n<html>\n")
    one, two = found.rows("run.node")
    assert (one["host"], one["extra"], one["position"]) == ("n1", [("lines", "2")], 1)
    assert (two["host"], two["extra"], two["position"]) == ("n2", [("rest_of_line", "slots=4")], 5)
    assert found.folded == {"repeated host": 1}
    assert found.filtered == {"blank or comment line": 2}
    assert (found.rejects[0].position, found.rejects[0].raw) == (6, b"<html>")


def options(found):
    return [(d["manager"], d["key"], d["value"]) for d in found.rows("run.directive")]


def test_options_of_pbs(tmp_path):
    text = """#!/bin/bash -l
#PBS -l walltime=4:00:00
#PBS -l select=4:system=polaris,place=scatter
#PBS -q run_next
#PBS -Aradix-io
#PBS -l filesystems=home:grand:eagle
#PBS -N "my job" -V -j oe  # a comment
# a comment

module load gcc
#PBS -q too_late
"""
    found = harvest(tmp_path, "job.sh", text)
    assert options(found) == [
        ("pbs", "walltime", "4:00:00"),
        ("pbs", "select", "4:system=polaris"),
        ("pbs", "place", "scatter"),
        ("pbs", "q", "run_next"),
        ("pbs", "A", "radix-io"),
        ("pbs", "filesystems", "home:grand:eagle"),
        ("pbs", "N", "my job"),
        ("pbs", "V", None),
        ("pbs", "j", "oe"),
    ]
    rows = found.rows("run.directive")
    assert [r["position"] for r in rows] == list(range(1, 10))
    assert rows[2]["extra"] == [("line", "3")]
    assert found.filtered["command of the script"] == 1
    assert found.filtered["directive behind the first command, which the batch system ignores"] == 1


def test_options_of_slurm(tmp_path):
    text = "#!/bin/sh\n" + "".join(
        f"#SBATCH {option}\n"
        for option in ["--nodes=4", "--nodes 4", "-N4", "-N 4", "--exclusive", "-J name --mem=4G"]
    )
    assert options(harvest(tmp_path, "job.sbatch", text)) == [
        ("slurm", "nodes", "4"),
        ("slurm", "nodes", "4"),
        ("slurm", "N", "4"),
        ("slurm", "N", "4"),
        ("slurm", "exclusive", None),
        ("slurm", "J", "name"),
        ("slurm", "mem", "4G"),
    ]


@pytest.mark.parametrize("line", ["#PBS walltime=1", "#PBS -q", "#SBATCH -N", '#PBS -N "open'])
def test_a_directive_that_cannot_be_read_is_rejected(tmp_path, line):
    found = harvest(tmp_path, "job.sh", f"#!/bin/sh\n{line}\n")
    assert [(r.position, r.raw.decode()) for r in found.rejects] == [(2, line)]


def software(found):
    return [(s["name"], s["version"], s["compiler"]) for s in found.rows("run.software")]


def test_spack_lists_what_is_installed(tmp_path):
    text = """==> In environment mofkadask
==> Root specs
cmake

==> Installed packages
-- linux-sles15-zen3 / gcc@11.2.0 -------------------------------
mochi.argobots@1.2%gcc
builtin.ca-certificates-mozilla@2023-01-10%gcc
zlib@1.2.13  zstd@1.5.5
abcdefg hdf5@1.14.3+mpi~cxx%clang
Creating Mofka Server
not@this one
"""
    found = harvest(tmp_path, "1873179.pbs.OU", text)
    assert software(found) == [
        ("argobots", "1.2", "gcc@11.2.0"),
        ("ca-certificates-mozilla", "2023-01-10", "gcc@11.2.0"),
        ("zlib", "1.2.13", "gcc@11.2.0"),
        ("zstd", "1.5.5", "gcc@11.2.0"),
        ("hdf5", "1.14.3", "clang"),
    ]
    first, *_, last = found.rows("run.software")
    assert dict(first["extra"]) == {
        "list": "spack",
        "namespace": "mochi",
        "arch": "linux-sles15-zen3",
        "line": "7",
    }
    assert dict(last["extra"])["variants"] == "+mpi~cxx"
    assert [s["position"] for s in found.rows("run.software")] == [1, 2, 3, 4, 5]


def test_modules_and_pip_lists(tmp_path):
    text = """
Currently Loaded Modules:
  1) gcc/12.2.0   2) cray-mpich/8.1.25 (D)   3) xalt

Package    Version
---------- -------
dask       2023.4.1
my.pkg     1.0rc1   /home/x

hello world 1
numpy==1.26.4
"""
    assert software(harvest(tmp_path, "job.o123", text)) == [
        ("gcc", "12.2.0", None),
        ("cray-mpich", "8.1.25", None),
        ("xalt", None, None),
        ("dask", "2023.4.1", None),
        ("my.pkg", "1.0rc1", None),
        ("numpy", "1.26.4", None),
    ]


def config(found):
    return [(c["key"], c["value"]) for c in found.rows("run.config")]


def test_json_is_flattened_with_dots(tmp_path):
    data = {"a": {"b": [1, {"c": None}], "d": True, "e": {}}, "f": "x", "g": 1.5, "h": []}
    found = harvest(tmp_path, "config.json", json.dumps(data))
    assert config(found) == [
        ("a.b.0", "1"),
        ("a.b.1.c", None),
        ("a.d", "true"),
        ("a.e", "{}"),
        ("f", "x"),
        ("g", "1.5"),
        ("h", "[]"),
    ]
    assert {c["file"] for c in found.rows("run.config")} == {"config.json"}


def test_repeated_keys_of_json_are_both_kept(tmp_path):
    assert config(harvest(tmp_path, "config.json", '{"a": 1, "a": 2}')) == [("a", "1"), ("a", "2")]


def test_yaml_is_flattened_as_well(tmp_path):
    text = "distributed:\n  scheduler:\n    bandwidth: 100000000\n    work-stealing: yes\n"
    assert config(harvest(tmp_path, "distributed.yaml", text)) == [
        ("distributed.scheduler.bandwidth", "100000000"),
        ("distributed.scheduler.work-stealing", "true"),
    ]


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", '{"a": '),
        ("config.json", "[" * 100_000),
        ("config.json", '{"a": 1} x'),
        ("dask.yaml", "a: [1"),
        ("dask.yaml", "a: !!python/object/apply:os.getcwd []"),
        ("dask.yaml", BOMB),
        ("dask.yaml", "a: &a [*a]\n"),
        ("dask.yaml", "? {a: 1}\n: 2\n"),
    ],
)
def test_a_damaged_or_hostile_configuration_is_one_reject(tmp_path, name, text):
    found = harvest(tmp_path, name, text)
    assert len(found.rejects) == 1
    assert "is not a configuration" in found.rejects[0].reason


def test_settings_of_darshan(tmp_path):
    text = "# c\n\nMOD_ENABLE      DXT_POSIX\nNAME_EXCLUDE  .pyc$,.so$   *\nmodmem 8\n"
    found = harvest(tmp_path, "config.txt", text)
    assert [(c["key"], c["value"], c["position"]) for c in found.rows("run.config")] == [
        ("MOD_ENABLE", "DXT_POSIX", 3),
        ("NAME_EXCLUDE", ".pyc$,.so$ *", 4),
    ]
    assert found.rejects[0].position == 5
