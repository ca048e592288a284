"""Writing of rows: a queue, a thread that packs frames, and a file or the scheduler."""
