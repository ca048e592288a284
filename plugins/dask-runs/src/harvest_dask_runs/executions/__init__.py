"""When which task ran, and on which thread, from all that is recorded of it."""
