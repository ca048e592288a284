"""The task of a run: its recipe, the sources in it, the inputs that they look at."""
