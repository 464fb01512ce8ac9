"""Losses for PyTorch: significance, q0, limits and likelihoods as functions of yields.

>>> import histfactory, histfactory.torch
>>> model = histfactory.Model.from_workspace("workspace.json")
>>> loss = histfactory.torch.SignificanceLoss(model, yields=["signal", "background"])
>>> histogram = histfactory.torch.SoftHistogram(edges, bandwidth=0.05)
>>> loss(histogram(network(signal)), histogram(network(background))).backward()

First and second derivatives are exact. Systematic uncertainties are profiled by fits that converge
to rounding, and the factorised Hessian gives the dependence of their results on the yields.
Everything is computed in float64; results have the dtype and the device of the arguments. CPU
tensors are computed on the CPU: a batch runs on all cores, with identical results to the last bit.
The significance and q0 of expected data are computed on the GPU if the tensors lie there.
Second derivatives and all other losses copy CUDA tensors to the CPU.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from histfactory._gpu import Gpu, Gpus, Where, target
from histfactory._histogram import SoftHistogram
from histfactory._named import in_order, made_once, names_of
from histfactory._native import Model, Objective

__all__ = [
    "SignificanceLoss",
    "SoftHistogram",
    "nll_loss",
    "q0_loss",
    "sigma_mu_loss",
    "upper_limit_loss",
]


def _whole(batch: int, tensor: Tensor, dim: int | None) -> Tensor:
    """Put the mapped axis first; a tensor without one is the same for all."""
    return tensor.expand(batch, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _value_and_slopes(objective: Objective, rows: Any) -> tuple[Any, Any]:
    """Return values and slopes; a row without a value is NaN and has no slope."""
    value, gradient = objective.value_and_gradient(rows)
    missing = np.isnan(value)
    if missing.any():
        gradient[missing] = 0.0
    return value, gradient


class _Value(torch.autograd.Function):
    """An objective of rows of inputs: values and, if needed, slopes."""

    @staticmethod
    def forward(objective: Objective, x: Tensor, slopes: bool) -> tuple[Tensor, Tensor]:
        rows = x.detach().numpy()
        if not slopes:
            return torch.from_numpy(objective.value(rows)), x.new_empty(0)
        value, gradient = _value_and_slopes(objective, rows)
        return torch.from_numpy(value), torch.from_numpy(gradient)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        objective, x, _ = inputs
        _, gradient = output
        ctx.mark_non_differentiable(gradient)
        ctx.set_materialize_grads(False)
        ctx.objective = objective
        ctx.save_for_backward(x, gradient)

    @staticmethod
    def backward(ctx: Any, outer: Tensor | None, _: Tensor | None) -> Any:
        if outer is None:
            return None, None, None
        x, gradient = ctx.saved_tensors
        product, _ = _Slopes.apply(ctx.objective, x, gradient, outer)
        return None, product, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, objective: Objective, x: Tensor, slopes: bool) -> Any:
        value, gradient = _Value.apply(objective, x.movedim(in_dims[1], 0), slopes)
        return (value, gradient), (0, 0 if slopes else None)


def _float64(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 and tensor.is_cpu else tensor.double().cpu()


def _like(slopes: Tensor, tensor: Tensor) -> Tensor:
    """Convert slopes to the shape of their tensor: if it was the same for a whole batch, their
    sum.
    """
    if slopes.shape != tensor.shape:
        slopes = slopes.sum_to_size(tensor.shape)
    same = slopes.dtype == tensor.dtype and tensor.is_cpu
    return slopes if same else slopes.to(tensor)


class _Plain(torch.autograd.Function):
    """A whole loss outside of the transforms of torch.func, for a fraction of their overhead."""

    @staticmethod
    def forward(ctx: Any, loss: _Loss, kind: _Kind, *tensors: Tensor) -> Tensor:
        rows = loss.rows(tensors, kind).numpy()
        value, gradient = _value_and_slopes(loss.objective, rows)
        ctx.loss, ctx.kind = loss, kind
        ctx.save_for_backward(torch.from_numpy(gradient), *tensors)
        result = torch.from_numpy(value)
        return kind.given(result.neg_() if loss.minus else result)

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Any:
        gradient, *tensors = ctx.saved_tensors
        outer = _float64(outer)
        # The sign is applied to the incoming gradient, so that second derivatives have it too.
        outer = -outer if ctx.loss.minus else outer
        if torch.is_grad_enabled():
            rows = ctx.loss.rows(tensors, ctx.kind)
            product, _ = _Slopes.apply(ctx.loss.objective, rows, gradient, outer)
        else:
            # Nothing differentiates this result again.
            product = gradient * outer.unsqueeze(-1)
        if len(tensors) == 1:
            [tensor] = tensors
            same = tensor.dtype == torch.float64 and tensor.is_cpu
            return None, None, product if same else product.to(tensor)
        parts = product.split(ctx.loss.lengths, -1)
        wanted = ctx.needs_input_grad[2:]
        slopes = [
            _like(part, tensor) if want else None
            for part, tensor, want in zip(parts, tensors, wanted, strict=True)
        ]
        return None, None, *slopes


class _OnGpu(torch.autograd.Function):
    """The values and slopes of rows on the GPU. No call waits for it."""

    @staticmethod
    def forward(gpu: Gpu, x: Tensor) -> tuple[Tensor, Tensor]:
        value, slopes, _ = gpu.evaluate(x)
        return value, slopes

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        gpu, x = inputs
        _, slopes = output
        ctx.mark_non_differentiable(slopes)
        ctx.set_materialize_grads(False)
        ctx.objective = gpu.objective
        ctx.save_for_backward(x, slopes)

    @staticmethod
    def backward(ctx: Any, outer: Tensor | None, _: Tensor | None) -> Any:
        if outer is None:
            return None, None
        x, slopes = ctx.saved_tensors
        product, _ = _Slopes.apply(ctx.objective, x, slopes, outer)
        return None, product

    @staticmethod
    def vmap(info: Any, in_dims: Any, gpu: Gpu, x: Tensor) -> Any:
        return _OnGpu.apply(gpu, x.movedim(in_dims[1], 0)), (0, 0)


class _Slopes(torch.autograd.Function):
    """The slopes of an objective times the incoming gradient: a function of both."""

    @staticmethod
    def forward(
        objective: Objective, x: Tensor, gradient: Tensor, outer: Tensor
    ) -> tuple[Tensor, Tensor]:
        if gradient.shape != x.shape:
            gradient = torch.from_numpy(_value_and_slopes(objective, x.numpy(force=True))[1])
        return gradient * outer.unsqueeze(-1), gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        objective, x, _, outer = inputs
        _, gradient = output
        ctx.mark_non_differentiable(gradient)
        ctx.set_materialize_grads(False)
        ctx.objective = objective
        ctx.save_for_backward(x, gradient, outer)

    @staticmethod
    def backward(ctx: Any, along: Tensor | None, _: Tensor | None) -> Any:
        if along is None:
            return None, None, None, None
        x, gradient, outer = ctx.saved_tensors
        turned = None
        if ctx.needs_input_grad[1]:
            turned = _Turned.apply(ctx.objective, x, along) * outer.unsqueeze(-1)
        return None, turned, None, (gradient * along).sum(-1)

    @staticmethod
    def vmap(info: Any, in_dims: Any, objective: Objective, *tensors: Tensor) -> Any:
        moved = map(functools.partial(_whole, info.batch_size), tensors, in_dims[1:])
        return _Slopes.apply(objective, *moved), (0, 0)


class _Turned(torch.autograd.Function):
    """The Hessian of an objective times directions. There are no third derivatives."""

    @staticmethod
    def forward(objective: Objective, x: Tensor, along: Tensor) -> Tensor:
        rows, directions = x.numpy(force=True), along.contiguous().numpy(force=True)
        value, _, turned = objective.value_and_gradient_along(rows, directions)
        turned[np.isnan(value)] = 0.0
        return torch.from_numpy(turned).to(x.device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Any:
        raise NotImplementedError("losses of histfactory have no third derivatives")

    @staticmethod
    def vmap(info: Any, in_dims: Any, objective: Objective, *tensors: Tensor) -> Any:
        moved = map(functools.partial(_whole, info.batch_size), tensors, in_dims[1:])
        return _Turned.apply(objective, *moved), 0


class _Kind(NamedTuple):
    """The leading axes that the tensors of a call share, with the dtype and device of the
    result.
    """

    batch: torch.Size
    dtype: torch.dtype
    device: torch.device

    def given(self, value: Tensor) -> Tensor:
        same = self.dtype == torch.float64 and self.device.type == "cpu"
        return value if same else value.to(self.device, self.dtype)


class _Loss:
    """An objective as a function of named tensors."""

    def __init__(
        self,
        objective: Objective,
        names: Sequence[str],
        *,
        minus: bool = False,
        device: Where = "auto",
    ) -> None:
        self.objective = objective
        self.gpus = Gpus(objective, device)
        self.minus = minus
        self.names = tuple(names)
        self.lengths = tuple(objective.lengths)

    def __call__(self, given: Sequence[Any]) -> Tensor:
        tensors = [torch.as_tensor(values) for values in given]
        kind = self.kind(tensors)
        gpu = self.gpus.find(tensors[0])
        if gpu is not None:
            on_gpu: Tensor = _OnGpu.apply(gpu, self.stacked(tensors, kind))[0]
            return (-on_gpu if self.minus else on_gpu).to(kind.device, kind.dtype)
        slopes = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        if slopes and not torch._C._are_functorch_transforms_active():
            value: Tensor = _Plain.apply(self, kind, *tensors)
            return value
        rows = self.rows(tensors, kind)
        value, _ = _Value.apply(
            self.objective, rows, torch.is_grad_enabled() and rows.requires_grad
        )
        return kind.given(-value if self.minus else value)

    def kind(self, tensors: Sequence[Tensor]) -> _Kind:
        """Return the kind of result for the inputs."""
        dtype, device, batch = tensors[0].dtype, tensors[0].device, None
        for name, tensor, length in zip(self.names, tensors, self.lengths, strict=True):
            shape = tensor.shape
            if not shape or shape[-1] != length:
                raise ValueError(
                    f"{name!r} has the shape {tuple(shape)}; "
                    f"its last axis must have {length} numbers"
                )
            if tensor.is_complex() or tensor.dtype == torch.bool:
                raise TypeError(f"{name!r} are {tensor.dtype}, not real numbers")
            leading = shape[:-1]
            if batch is None:
                batch = leading
            elif leading != batch:
                batch = torch.broadcast_shapes(batch, leading)
            if tensor.dtype != dtype:
                dtype = torch.promote_types(dtype, tensor.dtype)
        floating = dtype if dtype.is_floating_point else torch.float64
        return _Kind(batch or torch.Size(), floating, device)

    def stacked(self, tensors: Sequence[Tensor], kind: _Kind) -> Tensor:
        """Stack all inputs along the last axis, in float64 on the GPU."""
        device = target(tensors[0])
        parts = [
            tensor.to(device, torch.float64).expand(*kind.batch, tensor.shape[-1])
            for tensor in tensors
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    def rows(self, tensors: Sequence[Tensor], kind: _Kind) -> Tensor:
        """Stack all inputs along the last axis, in float64 on the CPU."""
        if len(tensors) == 1:
            return _float64(tensors[0])
        parts = [
            _float64(
                tensor
                if tensor.shape[:-1] == kind.batch
                else tensor.expand(*kind.batch, tensor.shape[-1])
            )
            for tensor in tensors
        ]
        return torch.cat(parts, dim=-1)


_made = made_once(_Loss)


class SignificanceLoss(nn.Module):
    """Minus the discovery significance, as a function of yields.

    ``yields`` names the arguments of a call, one tensor each: ``"signal"`` is a sample in all its
    channels, ``"SR/signal"`` in one, ``"SR/signal/scale:hi"`` and ``":lo"`` are the templates of a
    histosys, ``"SR/signal/stat"`` the absolute uncertainties of a staterror or shapesys. Leading
    axes are those of a batch: there is a loss for each row.

    ``data="asimov"`` uses the data expected at ``mu``, so the loss depends on the size of the
    signal. ``data="observed"`` and ``"profiled-asimov"`` use the observed data. On fixed observed
    data q0 does not change when the whole signal is scaled, because the signal strength compensates
    for it. ``smooth`` is added to q0 under the root and keeps slopes finite where there is no
    signal. ``templates="ride"`` moves the templates of a histosys with the nominal yields unless
    they are arguments themselves.

    ``device="auto"`` computes CUDA tensors on their GPU if its kernels support the model and the
    inputs, and warns if they do not. ``"cpu"`` copies them to the CPU; ``"cuda"`` also copies CPU
    tensors to the GPU. A loss on the GPU can be part of a CUDA graph after its first call.

    A row of a batch without a value is NaN and has no slope: skip it with ``torch.nanmean``.
    :meth:`status` returns the reason. A single row without a value raises on the CPU and is NaN on
    the GPU, because nothing waits for it there.
    """

    def __init__(
        self,
        model: Model,
        yields: Sequence[str],
        *,
        data: str = "asimov",
        mu: float = 1.0,
        smooth: float = 0.0,
        templates: str = "fixed",
        device: Where = "auto",
    ) -> None:
        super().__init__()
        names = names_of(yields)
        objective = Objective(
            model, "significance", list(names), data=data, mu=mu, smooth=smooth, templates=templates
        )
        self._loss = _Loss(objective, names, minus=True, device=device)

    def forward(self, *yields: Any) -> Tensor:
        return self._loss(self._in_order(yields))

    def _in_order(self, yields: tuple[Any, ...]) -> Sequence[Any]:
        return in_order(self._loss.names, yields, "tensors")

    def status(self, *yields: Any) -> list[str | None]:
        """Return the reason why each row of a batch has no value, ``None`` for rows with one."""
        tensors = [torch.as_tensor(given) for given in self._in_order(yields)]
        kind = self._loss.kind(tensors)
        gpu = self._loss.gpus.find(tensors[0])
        if gpu is not None:
            return gpu.status(self._loss.stacked(tensors, kind))
        return self._loss.objective.status(self._loss.rows(tensors, kind).detach().numpy())

    def extra_repr(self) -> str:
        return f"yields={list(self._loss.names)}"


def q0_loss(
    model: Model,
    yields: Mapping[str, Any],
    *,
    data: str = "asimov",
    mu: float = 1.0,
    templates: str = "fixed",
) -> Tensor:
    """Return minus q0, profiled; ``yields`` are tensors, named as for :class:`SignificanceLoss`."""
    return -_made(model, "q0", tuple(yields), data, mu, 0.05, templates)(list(yields.values()))


def nll_loss(
    model: Model,
    theta: Any,
    yields: Mapping[str, Any] | None = None,
    *,
    templates: str = "fixed",
) -> Tensor:
    """Return -log L of the observed data at parameters and yields; nothing is fitted."""
    yields = yields or {}
    names = ("parameters", *yields)
    return _made(model, "nll", names, "observed", 1.0, 0.05, templates)([theta, *yields.values()])


def sigma_mu_loss(
    model: Model,
    yields: Mapping[str, Any],
    *,
    data: str = "asimov",
    mu: float = 1.0,
    templates: str = "fixed",
) -> Tensor:
    """Return the uncertainty of the parameter of interest, from the curvature at the best fit."""
    return _made(model, "sigma_mu", tuple(yields), data, mu, 0.05, templates)(list(yields.values()))


def upper_limit_loss(
    model: Model,
    yields: Mapping[str, Any],
    *,
    data: str = "asimov",
    level: float = 0.05,
    templates: str = "fixed",
) -> Tensor:
    """Return the upper limit on the parameter of interest at CLs = ``level``.

    ``data="asimov"`` and ``"profiled-asimov"`` give the median limit on background alone, at the
    model's initial values or fitted to the observed data; ``data="observed"`` gives the observed
    limit.
    """
    made = _made(model, "upper_limit", tuple(yields), data, 0.0, level, templates)
    return made(list(yields.values()))
