"""The views and engine of the core, declared as a plugin like any other."""
