from . import measures as measures
from .errors import InputError as InputError
from .evaluation.estimates import Estimates as Estimates
from .inference.results import Estimate as Estimate
from .notebook.evaluation import Evaluation as Evaluation
from .spec import EvaluationSpec as EvaluationSpec
from .version import __version__ as __version__
