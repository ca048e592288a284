"""Dask runs compared: what differs between runs, by how much, and how sure that is."""
