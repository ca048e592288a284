"""Runs of jobs with the resources of their steps, from the records of sacct."""
