from .analysis import Analysis as Analysis
from .specs import load_spec as load_spec
