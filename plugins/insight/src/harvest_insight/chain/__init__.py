"""The chain across sources, from batch job to run, process, log and file.

No source knows another. Their records are connected by ids that several of them recorded (of a
job, of a process), by paths (a log within a run's directory) and by times. Each connection is a
*link*, a row of the view ``run.chain``, which says how the link was made and how sure it is.
The view ``run.lineage`` follows the links from each file to its job.
"""
