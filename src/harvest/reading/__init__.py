"""What is done with a partition, wherever that happens: read, brought to the schema, staged."""
