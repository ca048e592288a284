"""Commands as users see them; what each does is in a module of its own."""
