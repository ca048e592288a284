"""Looking before a run: at inputs, their first rows, and the columns that they would give."""
