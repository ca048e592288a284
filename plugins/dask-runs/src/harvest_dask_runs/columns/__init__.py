"""What the columns of the views mean, the most important first: see ``harvest.View.columns``."""
