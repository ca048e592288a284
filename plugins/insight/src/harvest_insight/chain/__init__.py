"""The chain across sources: which job ran what, which process wrote which log, which file it is.

No source knows another.  What ties their records together are ids that several of them wrote down
(a job's id, a process's id), places (a log within a run's directory, a path) and times.  Each tie
is a *link*, a row of the view ``run.chain``, that names how it was made and how sure it is;
``run.lineage`` follows the links from each file to its job.
"""
