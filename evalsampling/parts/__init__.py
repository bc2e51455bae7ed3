"""Parts that a spec names: our own, those of installed packages, and any as ``module:object``."""
