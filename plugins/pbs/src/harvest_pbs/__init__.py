"""PBS accounting as harvest records: logs of the server, ``qstat``'s JSON, or a live server."""
