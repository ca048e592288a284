"""Harvesting as files arrive: check the inputs, wait, and make an ordinary run after changes.

One comparison finds changed inputs: each input's current size, times and inode are compared with
those from which the last round started. Notifications of the file system only trigger checks, so
lost or repeated notifications do no harm. A file system without notifications is checked
periodically.
"""
