"""Timestamps of NCEM's 4D-STEM experiment, and the study of file transfer versus streaming."""
