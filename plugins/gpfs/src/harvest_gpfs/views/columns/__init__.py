"""What the columns of the views mean, the most important first: a module for each kind of view."""
