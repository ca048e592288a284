"""One job in full: ``harvest slurm job``."""
