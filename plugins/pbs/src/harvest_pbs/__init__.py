"""PBS accounting as harvest records: logs of the server, JSON of ``qstat``, or a live server."""
