"""The evaluation that people hold who work in Python."""
