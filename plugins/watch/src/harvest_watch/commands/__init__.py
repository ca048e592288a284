"""The commands ``harvest watch`` and ``harvest schedule``, as users see them."""
