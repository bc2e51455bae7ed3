from .evaluation import Evaluation as Evaluation
from .specs import load_spec as load_spec
