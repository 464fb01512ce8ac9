"""HistFactory models: exact likelihoods, derivatives, fits and limits from pyhf workspaces."""

from histfactory._native import __version__

__all__ = ["__version__"]
