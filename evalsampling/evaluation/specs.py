"""Specs of which everything that they name can be built."""

from pathlib import Path

from evalsampling.errors import InputError
from evalsampling.measures.build import check_measures
from evalsampling.samplers.build import build_sampler
from evalsampling.spec import EvaluationSpec


def load_spec(path: str | Path) -> EvaluationSpec:
    """Return the spec of a YAML file, checked together with the measures and sampler it names.

    Args:
        path: of the file, or its URL in a store; relative paths in it resolve against its
            directory.

    Raises:
        InputError: naming the file and the key that is wrong.
    """
    spec = EvaluationSpec.load(path)
    try:
        check_buildable(spec)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return spec


def check_buildable(spec: EvaluationSpec) -> None:
    """Check that the measures and the sampler of a spec can be built.

    Raises:
        InputError: naming the key that is wrong.
    """
    check_measures(spec)
    build_sampler(spec, [(0.0, 1.0) for _ in spec.pool.systems])
