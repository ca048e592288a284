"""Views of the study, each built by the module that its declaration names."""
