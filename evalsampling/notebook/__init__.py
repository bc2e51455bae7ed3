"""The evaluation that people hold who work in Python."""

from evalsampling.notebook.evaluation import Evaluation as Evaluation
