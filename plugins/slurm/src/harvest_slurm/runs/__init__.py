"""Runs of jobs with what their steps used, from the records of sacct."""
