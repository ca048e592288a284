"""Which backend is taken, and how much memory there is."""

import pytest

from harvest import UsageError
from harvest_gpfs.aggregation.on_polars import BACKENDS, available_memory, choose_backend

GB = 1 << 30


@pytest.mark.parametrize(
    ("size", "memory", "devices", "backend", "because"),
    [
        (1 << 20, 8 * GB, [], "memory", "only 1.00 MiB of columns"),
        (1 << 20, 8 * GB, [80 * GB], "memory", "only"),
        (1 << 24, 1 << 25, [], "streaming", "16.0 MiB of columns, 32.0 MiB of memory"),
        (10 * GB, 8 * GB, [], "streaming", "10.0 GiB of columns, 8.00 GiB of memory, no usable"),
        (10 * GB, 500 * GB, [], "streaming", "no usable GPU"),
        (10 * GB, 8 * GB, [80 * GB], "gpu", "fit into a GPU with 80.0 GiB"),
        (30 * GB, 8 * GB, [16 * GB, 80 * GB], "streaming", "a GPU with only 80.0 GiB"),
    ],
)
def test_auto_goes_by_size_memory_and_devices(size, memory, devices, backend, because):
    choice = choose_backend(size, "auto", memory, devices)
    assert choice.backend == backend
    assert because in choice.reason


def test_a_wish_is_granted_and_told():
    choice = choose_backend(500 * GB, "memory", 1 * GB, [])
    assert str(choice) == "backend memory: your choice"


def test_an_address_of_a_scheduler_is_a_wish_for_dask():
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    assert choose_backend(1, "auto", GB, [], address="tcp://head:8786").backend == "dask"


def test_an_unknown_backend_is_told():
    with pytest.raises(UsageError, match="no backend 'spark'; use auto, memory, streaming"):
        choose_backend(1, "spark", GB, [])


def test_a_gpu_that_is_not_there_is_told_with_what_is_missing(monkeypatch):
    from harvest_gpfs.aggregation import on_polars

    monkeypatch.setattr(on_polars, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="cudf-polars is not installed; use backend=streaming"):
        choose_backend(1, "gpu", GB, [])


def test_a_gpu_without_a_device_is_not_available(monkeypatch):
    from harvest_gpfs.aggregation import on_polars

    monkeypatch.setattr(on_polars, "find_spec", lambda name: object())
    monkeypatch.setattr(on_polars, "gpu_devices", list)
    monkeypatch.setattr(on_polars.pl, "__version__", "1.44.0")
    assert BACKENDS["gpu"]() == "no CUDA device found"
    monkeypatch.setattr(on_polars.pl, "__version__", "2.1.0")
    assert "below 1.45" in (BACKENDS["gpu"]() or "")


def write(root, path, text):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def test_memory_counts_the_limits_of_a_cgroup(tmp_path):
    """Version 2: the smallest of the group's own and those above it."""
    write(tmp_path, "proc/self/cgroup", "0::/slurm/job_1/step_0\n")
    write(tmp_path, "sys/fs/cgroup/slurm/job_1/step_0/memory.max", "max\n")
    write(tmp_path, "sys/fs/cgroup/slurm/job_1/memory.max", f"{64 << 20}\n")
    assert available_memory({}, tmp_path) == 64 << 20


def test_memory_counts_the_limits_of_an_old_cgroup(tmp_path):
    write(tmp_path, "proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/other\n")
    write(tmp_path, "sys/fs/cgroup/memory/box/memory.limit_in_bytes", f"{32 << 20}\n")
    assert available_memory({}, tmp_path) == 32 << 20


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SLURM_MEM_PER_NODE": "48"}, 48 << 20),
        ({"SLURM_MEM_PER_CPU": "16", "SLURM_CPUS_ON_NODE": "2"}, 32 << 20),
    ],
)
def test_memory_counts_what_slurm_gave(tmp_path, environment, expected):
    assert available_memory(environment, tmp_path) == expected


def test_without_limits_it_is_the_machines_memory(tmp_path):
    whole = available_memory({}, tmp_path)
    assert whole > 64 << 20
    assert available_memory({"SLURM_MEM_PER_NODE": "0"}, tmp_path) == whole
