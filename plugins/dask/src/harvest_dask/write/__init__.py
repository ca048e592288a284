"""The way of a row to its file: a queue, a thread that packs frames, a file or the scheduler."""
