"""Label-efficient evaluation of classifiers and linkers on very large pools.

Public names:
    Evaluation: draws rows to label, takes the labels, estimates. Begin with
        ``Evaluation.from_frame``, or ``Evaluation.open`` of a workspace.
    Estimates, Estimate: what ``Evaluation.estimate`` returns.
    measures: precision, recall, F and many more, to be estimated.
    EvaluationSpec: what a spec file says.
    InputError: the one error to be read by users; its message is one line.

Nothing here imports Apache Beam; the transforms are in `evalsampling.transforms`. The modules
below hold the parts; names that are not listed above may move.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
