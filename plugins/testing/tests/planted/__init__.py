"""Bugs as authors of plugins write them, and the promises of the kit that find them."""
