"""Anomalies of a flow field: normalise its blocks, then fit and score a model for each."""

import dask.array as da
from distributed import Client
from flow_model import fit, normalize, score

client = Client(scheduler_file="scheduler.json")
field = da.from_zarr("velocity.zarr")
blocks = field.map_blocks(normalize)
print("total", blocks.sum(split_every=2).compute())
models = client.map(fit, range(10))
scores = client.map(score, models)
print("scores", client.gather(scores, errors="skip"))
client.shutdown()
