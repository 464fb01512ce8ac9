"""HistFactory models: exact likelihoods, derivatives, fits and limits from pyhf workspaces.

Neither PyTorch nor JAX is imported here; ``histfactory.torch`` and ``histfactory.jax`` do that.
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
