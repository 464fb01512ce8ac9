"""HistFactory models: exact likelihoods, derivatives, fits and limits from pyhf workspaces.

This module imports neither PyTorch nor JAX; ``histfactory.torch`` and ``histfactory.jax`` do.
"""

from histfactory._native import (
    EvaluationError,
    Fit,
    FitError,
    HistfactoryError,
    Hypotest,
    Model,
    Objective,
    Significance,
    UpperLimit,
    WorkspaceError,
    __version__,
    synthetic_workspace,
)
from histfactory._statistic import TestStatistic

__all__ = [
    "EvaluationError",
    "Fit",
    "FitError",
    "HistfactoryError",
    "Hypotest",
    "Model",
    "Objective",
    "Significance",
    "TestStatistic",
    "UpperLimit",
    "WorkspaceError",
    "__version__",
    "synthetic_workspace",
]
