from .specs import load_spec as load_spec
