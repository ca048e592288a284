"""The work on one partition, in any process: read it, fit rows to the schema, stage them."""
