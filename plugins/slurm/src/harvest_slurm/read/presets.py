"""Orders of columns in which other programs ask sacct for dumps without a header.

``xdmod`` and its older forms: https://open.xdmod.org, Slurm notes, "Input format".  Version 9.0
added AllocTRES to the order of 8; 9.5, which 10 kept, took ReqGRES away; 11 has QOS besides, as in
classes/OpenXdmod/Shredder/Slurm.php.
``sonar``: https://github.com/NordicHPC/sonar, SACCT_FIELDS of src/slurmjobs.rs.
``jobstats``: https://github.com/PrincetonUniversity/jobstats, jobstats.py, version 1.0.
``apel``, ``apel-totalcpu``: https://github.com/apel/apel, the two commands of
scripts/slurm_acc.sh.
``gc3pie``: https://github.com/gc3pie/gc3pie, as quoted in its issue 656.
``slurm2sql``: https://github.com/NordicHPC/slurm2sql, version 0.9.9; one field is asked for twice.
``distiller``: of the National Center for Electron Microscopy, jobs of 4D-STEM scans.
``sacct``, ``sacct-brief``, ``sacct-long``, ``sacct-all``: what sacct itself prints without a
format, by --brief, --long and --format=ALL, in Slurm 22.05.
"""

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
        "apel-totalcpu": "JobID JobName User Group Start End Elapsed TotalCPU Partition NCPUS "
        "NNodes NodeList MaxRSS MaxVMSize State",
        "gc3pie": "JobID ExitCode State NCPUS Elapsed TotalCPU Submit Start End MaxRSS MaxVMSize",
        "slurm2sql": "JobName User Group Account SubmitLine State Timelimit Elapsed Submit Start "
        "End Partition ExitCode NodeList Priority ReqNodes NNodes AllocNodes ReqTRES NTasks "
        "AllocTRES TRESUsageInTot TRESUsageOutTot NCPUS ReqCPUS AllocCPUS CPUTime TotalCPU "
        "UserCPU SystemCPU MinCPU MinCPUNode MinCPUTask ReqMem AveRSS MaxRSS MaxRSSNode "
        "MaxRSSTask MaxPages MaxVMSize AveDiskRead AveDiskWrite MaxDiskRead MaxDiskWrite Comment "
        "JobID JobIDRaw ConsumedEnergyRaw TRESUsageInAve TRESUsageOutTot",
        "distiller": "JobName JobID Timelimit Elapsed Submit Start End ReqNodes QOS User ExitCode",
        "sacct": "JobID JobName Partition Account AllocCPUS State ExitCode",
        "sacct-brief": "JobID State ExitCode",
        "sacct-long": "JobID JobIDRaw JobName Partition MaxVMSize MaxVMSizeNode MaxVMSizeTask "
        "AveVMSize MaxRSS MaxRSSNode MaxRSSTask AveRSS MaxPages MaxPagesNode MaxPagesTask "
        "AvePages MinCPU MinCPUNode MinCPUTask AveCPU NTasks AllocCPUS Elapsed State ExitCode "
        "AveCPUFreq ReqCPUFreqMin ReqCPUFreqMax ReqCPUFreqGov ReqMem ConsumedEnergy MaxDiskRead "
        "MaxDiskReadNode MaxDiskReadTask AveDiskRead MaxDiskWrite MaxDiskWriteNode "
        "MaxDiskWriteTask AveDiskWrite ReqTRES AllocTRES TRESUsageInAve TRESUsageInMax "
        "TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin TRESUsageInMinNode "
        "TRESUsageInMinTask TRESUsageInTot TRESUsageOutMax TRESUsageOutMaxNode "
        "TRESUsageOutMaxTask TRESUsageOutAve TRESUsageOutTot",
        "sacct-all": "Account AdminComment AllocCPUS AllocNodes AllocTRES AssocID AveCPU "
        "AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize BlockID Cluster Comment "
        "Constraints ConsumedEnergy ConsumedEnergyRaw Container CPUTime CPUTimeRAW DBIndex "
        "DerivedExitCode Elapsed ElapsedRaw Eligible End ExitCode Flags GID Group JobID JobIDRaw "
        "JobName Layout MaxDiskRead MaxDiskReadNode MaxDiskReadTask MaxDiskWrite "
        "MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask MaxRSS MaxRSSNode "
        "MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask McsLabel MinCPU MinCPUNode MinCPUTask "
        "NCPUS NNodes NodeList NTasks Partition Priority QOS QOSRAW Reason ReqCPUFreq "
        "ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin ReqCPUS ReqMem ReqNodes ReqTRES Reservation "
        "ReservationId Reserved ResvCPU ResvCPURAW Start State Submit SubmitLine Suspended "
        "SystemComment SystemCPU Timelimit TimelimitRaw TotalCPU TRESUsageInAve TRESUsageInMax "
        "TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin TRESUsageInMinNode "
        "TRESUsageInMinTask TRESUsageInTot TRESUsageOutAve TRESUsageOutMax TRESUsageOutMaxNode "
        "TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode TRESUsageOutMinTask "
        "TRESUsageOutTot UID User UserCPU WCKey WCKeyID WorkDir",
    }.items()
}
"""Name that ``slurm.layout`` takes -> fields of sacct in order."""

WIDTHS: Final = {"sacct": (12, 10, 10, 10, 10, 10, 8), "sacct-brief": (12, 10, 8)}
"""Widths of the columns that sacct prints by default."""
