"""Harvesting as files arrive: look at the inputs, wait, make an ordinary run when some changed.

What was read and what was not is found by one comparison: each input's size, times and inode as a
look finds them, next to those that the last round started from.  Notifications of the file system
only say when to look, so that none that is lost or comes twice matters, and a file system without
any is looked at every so often.
"""
