"""The one channel of this process; ``None`` when firstlight is not measuring it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._channel import Channel

channel: Channel | None = None

# What adapters still have to tell when the process ends, such as their cache's counters.
farewells: list[Callable[[Any], None]] = []
