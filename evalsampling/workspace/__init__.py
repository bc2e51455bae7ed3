"""The files of one evaluation."""
