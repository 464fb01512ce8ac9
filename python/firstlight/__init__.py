"""The side of firstlight that lives inside the measured process.

Standard library only, no extension modules, and as little of the library as possible at start:
what is imported here is paid for by every measured process.
"""

from ._api import Workload, mark

__all__ = ["Workload", "mark"]
__version__ = "0.1.0"
