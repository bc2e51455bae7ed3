"""Label-efficient evaluation of classifiers and linkers on very large pools.

Nothing here imports Apache Beam; the transforms are in `evalsampling.transforms`.
"""

from evalsampling import measures as measures
from evalsampling.errors import InputError as InputError
from evalsampling.evaluation import Evaluation as Evaluation
from evalsampling.spec import EvaluationSpec as EvaluationSpec
from evalsampling.version import __version__ as __version__
