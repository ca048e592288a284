"""Orders of columns in which other programs ask sacct for dumps without a header.

``xdmod`` and its older forms: https://open.xdmod.org, Slurm notes, "Input format".  Version 9.0
added AllocTRES to the order of 8; 9.5, which 10 kept, took ReqGRES away; 11 has QOS besides, as in
classes/OpenXdmod/Shredder/Slurm.php.
``sonar``: https://github.com/NordicHPC/sonar, SACCT_FIELDS of src/slurmjobs.rs.
``jobstats``: https://github.com/PrincetonUniversity/jobstats, jobstats.py, version 1.0.
``apel``: https://github.com/apel/apel, scripts/slurm_acc.sh.
"""

from __future__ import annotations

from typing import Final

_XDMOD_BEGIN: Final = "JobID JobIDRaw Cluster Partition"
_XDMOD_MIDDLE: Final = (
    "Account Group GID User UID Submit Eligible Start End Elapsed ExitCode State NNodes NCPUS "
    "ReqCPUS ReqMem"
)
_XDMOD_END: Final = "Timelimit NodeList JobName"

PRESETS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(fields.split())
    for name, fields in {
        "xdmod": f"{_XDMOD_BEGIN} QOS {_XDMOD_MIDDLE} ReqTRES AllocTRES {_XDMOD_END}",
        "xdmod-9.5": f"{_XDMOD_BEGIN} {_XDMOD_MIDDLE} ReqTRES AllocTRES {_XDMOD_END}",
        "xdmod-9": f"{_XDMOD_BEGIN} {_XDMOD_MIDDLE} ReqGRES ReqTRES AllocTRES {_XDMOD_END}",
        "xdmod-8": f"{_XDMOD_BEGIN} {_XDMOD_MIDDLE} ReqGRES ReqTRES {_XDMOD_END}",
        "sonar": "JobID JobIDRaw User Account State Start End AveCPU AveDiskRead AveDiskWrite "
        "AveRSS AveVMSize ElapsedRaw ExitCode Layout MaxRSS MaxVMSize MinCPU ReqCPUS ReqMem "
        "ReqNodes Reservation Submit Suspended SystemCPU TimelimitRaw UserCPU NodeList Partition "
        "AllocTRES Priority JobName",
        "jobstats": "JobIDRaw Start End Cluster AllocTRES AdminComment User Account State NNodes "
        "NCPUS ReqMem QOS Partition TimelimitRaw JobName",
        "apel": "JobID JobName User Group Start End Elapsed CPUTimeRAW Partition NCPUS NNodes "
        "NodeList MaxRSS MaxVMSize State",
    }.items()
}
"""Fields of sacct in their order, by the name that ``slurm.layout`` takes."""
