"""The commands that look before a run, as users see them."""
