"""The views of the study: lazy frames over what the sources gave."""
