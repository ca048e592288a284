"""What several tests share: clusters, started when a test first asks for one, and permissions."""

from __future__ import annotations

import os
import shutil

import pytest
from clusters import anywhere, on_slurm, paced, slurm_environment

__all__ = ["anywhere", "bound_by_permissions", "on_slurm", "paced", "slurm_environment"]


@pytest.fixture
def bound_by_permissions() -> list[str]:
    """Words before a command that make permissions count, for root too."""
    if os.getuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root is bound by no permissions, and there is no setpriv to change that")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"]
