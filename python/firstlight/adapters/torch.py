"""PyTorch: its version, and the start of CUDA with the memory of its devices."""

from __future__ import annotations

import sys

from .._channel import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._channel import Channel


def install(channel: Channel) -> None:
    torch = sys.modules["torch"]
    channel.event("framework", name="torch", version=str(getattr(torch, "__version__", "unknown")))
    cuda = sys.modules.get("torch.cuda")
    original = getattr(cuda, "_lazy_init", None)
    if cuda is None or original is None:
        return

    def lazy_init() -> Any:
        if cuda.is_initialized():
            return original()
        channel.begin("device-init", "torch")
        try:
            return original()
        finally:
            channel.end("device-init", "torch")
            if cuda.is_initialized():
                cuda._lazy_init = original  # type: ignore[attr-defined]
                guarded(channel, "torch", _read_devices)(channel, cuda)

    cuda._lazy_init = lazy_init  # type: ignore[attr-defined]


def _read_devices(channel: Channel, cuda: Any) -> None:
    count = cuda.device_count()
    names = sorted({cuda.get_device_name(index) for index in range(count)})
    channel.event("device", platform="cuda", devices=names)

    def read() -> list[tuple[str, int | None, int | None]]:
        return [
            ("cuda:%d" % i, cuda.memory_allocated(i), cuda.max_memory_allocated(i))
            for i in range(count)
        ]

    channel.memory.devices.append(read)
