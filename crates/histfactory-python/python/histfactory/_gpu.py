"""Objectives of CUDA tensors: values and slopes of rows that never leave the GPU."""

from __future__ import annotations

import warnings
from typing import Literal

import torch
from torch import Tensor

from histfactory._native import DeviceObjective, Objective, device_status

Where = Literal["auto", "cpu", "cuda"]


def ordinal_of(tensor: Tensor) -> int | None:
    """Return the number of the GPU on which a tensor lies."""
    return tensor.device.index if tensor.is_cuda else None


def target(tensor: Tensor) -> torch.device:
    """Return where rows of a tensor are computed: on its GPU, or on the current one."""
    return tensor.device if ordinal_of(tensor) is not None else torch.device("cuda")


def _stream(tensor: Tensor) -> int:
    return int(torch.cuda.current_stream(tensor.device).cuda_stream)


def _is_capturing() -> bool:
    return torch.cuda.is_available() and bool(torch.cuda.is_current_stream_capturing())


class Gpu:
    """An objective whose model lies on one GPU."""

    def __init__(self, objective: Objective, ordinal: int) -> None:
        if _is_capturing():
            raise RuntimeError(
                "the loss copies its model to the GPU at its first call, which a CUDA graph "
                "cannot contain\nhint: call it once before torch.cuda.graph"
            )
        self.objective = objective
        self._native = DeviceObjective(objective, ordinal)
        if self._native.was_compiled:
            warnings.warn(
                "the CUDA driver compiled histfactory's kernels: this version has none for the "
                "architecture of this GPU",
                stacklevel=4,
            )

    def evaluate(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Start the evaluation of rows and return values, slopes and status codes.

        Nothing waits for the GPU. A row without a value is NaN and has slopes of zero.
        """
        x = x.detach().contiguous()
        batch = x.shape[:-1]
        value, slopes = x.new_empty(batch), torch.empty_like(x)
        status = torch.empty(batch, dtype=torch.int32, device=x.device)
        rows = batch.numel()
        scratch, blocks = self._scratch(rows, x.device)
        tensors = (x, value, slopes, status, scratch)
        self._native.start(
            *(tensor.data_ptr() for tensor in tensors), rows=rows, blocks=blocks, stream=_stream(x)
        )
        return value, slopes, status

    def _scratch(self, rows: int, device: torch.device) -> tuple[Tensor, int]:
        """Allocate memory for rows; with little memory left, fewer run at the same time."""
        blocks = self._native.blocks(rows)
        while True:
            size = self._native.scratch_bytes(blocks)
            try:
                return torch.empty(size, dtype=torch.uint8, device=device), blocks
            except torch.cuda.OutOfMemoryError:
                if blocks <= 1:
                    raise
                blocks //= 2

    def status(self, x: Tensor) -> list[str | None]:
        """Return the reason why each row has no value; this waits for the GPU."""
        return [device_status(code) for code in self.evaluate(x)[2].flatten().tolist()]


class Gpus:
    """An objective on every GPU that was asked for, if the kernels support it."""

    def __init__(self, objective: Objective, where: Where) -> None:
        if where not in ("auto", "cpu", "cuda"):
            raise ValueError(f'device is {where!r}\nhint: take one of "auto", "cpu", "cuda"')
        self._objective, self._where = objective, where
        self._known: dict[int, Gpu | None] = {}

    def find(self, tensor: Tensor) -> Gpu | None:
        """Return the objective on the GPU that a tensor's rows should use, or ``None``."""
        if self._where == "cpu":
            return None
        ordinal = ordinal_of(tensor)
        if ordinal is None:
            if self._where == "auto":
                return None
            ordinal = torch.cuda.current_device()
        if ordinal not in self._known:
            self._known[ordinal] = self._made(ordinal)
        return self._known[ordinal]

    def _made(self, ordinal: int) -> Gpu | None:
        try:
            return Gpu(self._objective, ordinal)
        except NotImplementedError as problem:
            if self._where == "cuda":
                raise
            warnings.warn(
                f"the loss is computed on the CPU and its tensors are copied there: {problem}\n"
                'hint: device="cpu" does the same without this warning',
                stacklevel=4,
            )
            return None
