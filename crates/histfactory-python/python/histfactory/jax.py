"""Losses for JAX: the functions of :mod:`histfactory.torch`, through XLA's foreign functions.

>>> import jax
>>> jax.config.update("jax_enable_x64", True)
>>> import histfactory, histfactory.jax
>>> model = histfactory.Model.from_workspace("workspace.json")
>>> loss = histfactory.jax.SignificanceLoss(model, yields=["signal"])
>>> value, slope = jax.jit(jax.value_and_grad(loss))(signal)

``jit``, ``grad``, ``vmap``, ``jvp`` and ``hessian`` work, in any order. A compiled program calls
the core directly, without Python in between. It owns the function that it calls and may outlive the
model. A batch runs on all cores, with identical results to the last bit. Everything is computed in
float64: on the CPU, and for arrays on an NVIDIA GPU, values and first derivatives of the
significance and q0 of expected data on that GPU.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf

from histfactory import _native
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

_OLDEST = (0, 10)
_TARGET = "histfactory_evaluate"
_GPU_TARGET = "histfactory_evaluate_on_gpu"
# Set by tests, on a platform without streams.
_default_stream = False


def _register() -> None:
    if jax.__version_info__[:2] < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise ImportError(f"histfactory.jax needs JAX {oldest} or newer, this is {jax.__version__}")
    # The type must be registered before the handler that creates states of it.
    jax.ffi.register_ffi_type("histfactory_objective", _native.xla_state_type(), platform="cpu")
    jax.ffi.register_ffi_target(_TARGET, _native.xla_handlers(), platform="cpu")
    _register_gpu("CUDA")


def _register_gpu(platform: str) -> None:
    state = _native.xla_state_type(on_gpu=True)
    jax.ffi.register_ffi_type("histfactory_objective_on_gpu", state, platform=platform)
    handlers = _native.xla_handlers(on_gpu=True)
    jax.ffi.register_ffi_target(_GPU_TARGET, handlers, platform=platform)


_register()


class _Function(int):
    """The number of an objective.

    An object that holds the number, such as a traced program, keeps the objective registered.
    """

    held: _native.XlaFunction
    objective: Objective

    def __new__(cls, objective: Objective) -> _Function:
        held = _native.XlaFunction(objective)
        function = super().__new__(cls, held.number)
        function.held, function.objective = held, objective
        return function

    @functools.cached_property
    def on_gpu(self) -> _native.DeviceObjective | None:
        """The objective on the first GPU, ``None`` if the kernels do not support it."""
        try:
            return _native.DeviceObjective(self.objective, 0)
        except NotImplementedError:
            return None

    @functools.cached_property
    def either(self) -> Any:
        """The function with its slopes if needed, compiled so that every platform is known."""
        return jax.jit(functools.partial(_either, self), static_argnums=1)

    @functools.cached_property
    def rows_on_gpu(self) -> Any:
        """Values and gradients of rows on a GPU; a mapped axis is another axis of rows."""
        rows = jax.custom_batching.custom_vmap(functools.partial(_rows_on_gpu, self))

        @rows.def_vmap
        def _(size: int, mapped: Any, x: jax.Array) -> Any:
            return rows(x), (True, True)

        return rows


@functools.cache
def _has_gpu() -> bool:
    return jax.default_backend() == "gpu" and bool(_native.cuda_is_present())


def _by_platform(x: jax.Array, cpu: Any, gpu: Any) -> tuple[jax.Array, ...]:
    """Choose by the platform for which the program is compiled."""
    found: tuple[jax.Array, ...] = jax.lax.platform_dependent(x, cpu=cpu, cuda=gpu)
    return found


def _rows_on_gpu(function: _Function, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    gpu = function.on_gpu
    assert gpu is not None
    batch = x.shape[:-1]
    blocks = gpu.blocks(math.prod(batch))
    results = (
        jax.ShapeDtypeStruct(batch, jnp.float64),
        jax.ShapeDtypeStruct(x.shape, jnp.float64),
        jax.ShapeDtypeStruct(batch, jnp.int32),
        jax.ShapeDtypeStruct((gpu.scratch_bytes(blocks),), jnp.uint8),
    )
    call = jax.ffi.ffi_call(_GPU_TARGET, results)
    value, gradient, _, _ = call(x, function=function, default_stream=int(_default_stream))
    return value, gradient


def _call(function: _Function, x: jax.Array, *shapes: tuple[int, ...]) -> tuple[jax.Array, ...]:
    """Return the value and, depending on the number of shapes, the gradient and the Hessian."""
    results = tuple(jax.ShapeDtypeStruct(shape, jnp.float64) for shape in shapes)
    call = jax.ffi.ffi_call(_TARGET, results, vmap_method="broadcast_all")
    return tuple(call(x, function=function))


def _evaluate(function: _Function, x: jax.Array, slopes: bool) -> tuple[jax.Array, ...]:
    """Return the value, and the gradient if needed, from where the array lies."""
    if not _has_gpu() or function.on_gpu is None:
        return _call(function, x, *_shapes(x, slopes))
    found: tuple[jax.Array, ...] = function.either(x, slopes)
    return found


def _shapes(x: jax.Array, slopes: bool) -> tuple[tuple[int, ...], ...]:
    return (x.shape[:-1], x.shape) if slopes else (x.shape[:-1],)


def _either(function: _Function, x: jax.Array, slopes: bool) -> tuple[jax.Array, ...]:
    def cpu(x: jax.Array) -> tuple[jax.Array, ...]:
        return _call(function, x, *_shapes(x, slopes))

    def gpu(x: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(function.rows_on_gpu(x)[: 2 if slopes else 1])

    return _by_platform(x, cpu, gpu)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _value(function: _Function, x: jax.Array) -> jax.Array:
    return _evaluate(function, x, False)[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _slopes(function: _Function, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    value, gradient = _evaluate(function, x, True)
    return value, gradient


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _curvature(function: _Function, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    value, gradient, hessian = _call(function, x, x.shape[:-1], x.shape, (*x.shape, x.shape[-1]))
    return value, gradient, hessian


def _masked(value: jax.Array, slopes: jax.Array) -> jax.Array:
    """Set the slopes of rows without a value to zero, so that code that skips these rows gets no
    NaN.
    """
    missing = jnp.isnan(value).reshape(value.shape + (1,) * (slopes.ndim - value.ndim))
    return jnp.where(missing, 0.0, slopes)


@_value.defjvp
def _value_along(function: _Function, primals: Any, tangents: Any) -> Any:
    ((x,), (along,)) = primals, tangents
    value, gradient = _slopes(function, x)
    gradient = _masked(value, gradient)
    return value, jnp.sum(gradient * along, axis=-1)


@_slopes.defjvp
def _slopes_along(function: _Function, primals: Any, tangents: Any) -> Any:
    ((x,), (along,)) = primals, tangents
    value, gradient, hessian = _curvature(function, x)
    gradient, hessian = _masked(value, gradient), _masked(value, hessian)
    change = jnp.sum(hessian * along[..., None, :], axis=-1)
    return (value, gradient), (jnp.sum(gradient * along, axis=-1), change)


@_curvature.defjvp
def _curvature_along(function: _Function, primals: Any, tangents: Any) -> Any:
    raise NotImplementedError("histfactory has first and second derivatives, no third ones")


def _float64(what: str, values: Any) -> jax.Array:
    if not jax.config.jax_enable_x64:
        raise RuntimeError(
            "histfactory computes in float64, which JAX has switched off\n"
            'hint: jax.config.update("jax_enable_x64", True) before anything else'
        )
    array = jnp.asarray(values)
    if array.dtype == bool or not jnp.issubdtype(array.dtype, jnp.number):
        raise TypeError(f"{what} are {array.dtype}, not real numbers")
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise TypeError(f"{what} are {array.dtype}, not real numbers")
    return array.astype(jnp.float64)


class _Loss:
    """An objective as a function of named arrays."""

    def __init__(self, objective: Objective, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.lengths = tuple(objective.lengths)
        self.objective = objective
        self.function = _Function(objective)

    def __call__(self, given: Sequence[Any]) -> jax.Array:
        return _value(self.function, self.rows(given))

    def rows(self, given: Sequence[Any]) -> jax.Array:
        """Stack all inputs along the last axis."""
        arrays = [
            _float64(repr(name), values) for name, values in zip(self.names, given, strict=True)
        ]
        for name, array, length in zip(self.names, arrays, self.lengths, strict=True):
            if array.ndim == 0 or array.shape[-1] != length:
                raise ValueError(
                    f"{name!r} has the shape {array.shape}; "
                    f"its last axis must have {length} numbers"
                )
        # Leading axes are those of a batch.
        batch = jnp.broadcast_shapes(*(array.shape[:-1] for array in arrays))
        whole = [jnp.broadcast_to(array, (*batch, array.shape[-1])) for array in arrays]
        return whole[0] if len(whole) == 1 else jnp.concatenate(whole, axis=-1)


_made = made_once(_Loss)


class SignificanceLoss:
    """Minus the discovery significance, as a function of yields.

    ``yields`` names the arguments of a call, one array each: ``"signal"`` is a sample in all its
    channels, ``"SR/signal"`` in one, ``"SR/signal/scale:hi"`` and ``":lo"`` are the templates of a
    histosys, ``"SR/signal/stat"`` the absolute uncertainties of a staterror or shapesys. Leading
    axes are those of a batch: there is a loss for each row.

    ``data="asimov"`` uses the data expected at ``mu``, so the loss depends on the size of the
    signal. ``data="observed"`` and ``"profiled-asimov"`` use the observed data. On fixed observed
    data q0 does not change when the whole signal is scaled, because the signal strength compensates
    for it. ``smooth`` is added to q0 under the root and keeps slopes finite where there is no
    signal. ``templates="ride"`` moves the templates of a histosys with the nominal yields unless
    they are arguments themselves.

    A row of a batch without a value is NaN and has no slope: skip it with ``jax.numpy.nanmean``.
    :meth:`status` returns the reason. A single row without a value raises.
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
    ) -> None:
        names = names_of(yields)
        objective = Objective(
            model, "significance", list(names), data=data, mu=mu, smooth=smooth, templates=templates
        )
        self._loss = _Loss(objective, names)

    def __call__(self, *yields: Any) -> jax.Array:
        return -self._loss(in_order(self._loss.names, yields, "arrays"))

    def status(self, *yields: Any) -> list[str | None]:
        """Return the reason why each row of a batch has no value, ``None`` for rows with one; not
        inside ``jit``.
        """
        rows = self._loss.rows(in_order(self._loss.names, yields, "arrays"))
        return self._loss.objective.status(np.asarray(rows))

    def __repr__(self) -> str:
        return f"SignificanceLoss(yields={list(self._loss.names)})"


def q0_loss(
    model: Model,
    yields: Mapping[str, Any],
    *,
    data: str = "asimov",
    mu: float = 1.0,
    templates: str = "fixed",
) -> jax.Array:
    """Return minus q0, profiled; ``yields`` are arrays, named as for :class:`SignificanceLoss`."""
    return -_made(model, "q0", tuple(yields), data, mu, 0.05, templates)(list(yields.values()))


def nll_loss(
    model: Model, theta: Any, yields: Mapping[str, Any] | None = None, *, templates: str = "fixed"
) -> jax.Array:
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
) -> jax.Array:
    """Return the uncertainty of the parameter of interest, from the curvature at the best fit."""
    return _made(model, "sigma_mu", tuple(yields), data, mu, 0.05, templates)(list(yields.values()))


def upper_limit_loss(
    model: Model,
    yields: Mapping[str, Any],
    *,
    data: str = "asimov",
    level: float = 0.05,
    templates: str = "fixed",
) -> jax.Array:
    """Return the upper limit on the parameter of interest at CLs = ``level``.

    ``data="asimov"`` and ``"profiled-asimov"`` give the median limit on background alone, at the
    model's initial values or fitted to the observed data; ``data="observed"`` gives the observed
    limit.
    """
    made = _made(model, "upper_limit", tuple(yields), data, 0.0, level, templates)
    return made(list(yields.values()))


class SoftHistogram:
    """Bin contents as integrals of a smooth distribution around each value.

    An event at x of weight w adds w·[F((b-x)/h) - F((a-x)/h)] to the bin from a to b, F being the
    normal distribution function and h the bandwidth. The part that leaves one bin enters the next,
    whatever their widths. As h goes to zero, the contents become those of the plain histogram.

    ``flow`` sets the treatment of events beyond the edges: ``"drop"`` leaves them out, ``"merge"``
    adds them to the first and the last bin, ``"keep"`` adds a bin at both ends.

    To change the bandwidth without recompiling, pass ``bandwidth=`` with each call.
    """

    def __init__(
        self, edges: Any, bandwidth: float, *, flow: Literal["drop", "merge", "keep"] = "drop"
    ) -> None:
        self.edges = _float64("edges", edges)
        ascending = self.edges.ndim == 1 and len(self.edges) > 1
        if not ascending or not bool(jnp.all(self.edges[1:] > self.edges[:-1])):
            raise ValueError("edges must be at least two numbers in ascending order")
        if flow not in ("drop", "merge", "keep"):
            raise ValueError(f'flow is {flow!r}\nhint: take one of "drop", "merge", "keep"')
        if not bandwidth >= 0.0:
            raise ValueError(f"the bandwidth is {bandwidth}")
        self.bandwidth, self.flow = float(bandwidth), flow

    @property
    def bins(self) -> int:
        return len(self.edges) - 1 + (2 if self.flow == "keep" else 0)

    def __call__(self, values: Any, weights: Any = None, *, bandwidth: Any = None) -> jax.Array:
        """Return the contents of the bins; ``values`` and ``weights`` have one number for each
        event.
        """
        return self._fill(values, weights, bandwidth)[0]

    def with_squares(
        self, values: Any, weights: Any = None, *, bandwidth: Any = None
    ) -> tuple[jax.Array, jax.Array]:
        """Return the contents and the sums of squared weights: the variances of the contents."""
        contents, sides, weights = self._fill(values, weights, bandwidth)
        if self.flow != "drop":
            one = jnp.ones_like(sides, shape=(1, sides.shape[1]))
            sides = jnp.concatenate([-one, sides, one])
        shares = 0.5 * (sides[1:] - sides[:-1])
        shares = shares if weights is None else shares * weights
        return contents, jnp.sum(shares * shares, axis=-1)

    def with_errors(
        self, values: Any, weights: Any = None, *, bandwidth: Any = None
    ) -> tuple[jax.Array, jax.Array]:
        """Return the contents and their statistical uncertainties, as for a staterror."""
        contents, squares = self.with_squares(values, weights, bandwidth=bandwidth)
        # An empty bin has no uncertainty; the square root would have no slope there.
        roots = jnp.sqrt(jnp.where(squares > 0, squares, 1.0))
        return contents, jnp.where(squares > 0, roots, 0.0)

    def hard(self, values: Any, weights: Any = None) -> jax.Array:
        """Return the plain histogram with the same edges and flow."""
        return self._fill(values, weights, 0.0)[0]

    def _fill(
        self, values: Any, weights: Any, bandwidth: Any
    ) -> tuple[jax.Array, jax.Array, jax.Array | None]:
        """Return the contents and the terms that they are computed from."""
        values = jnp.asarray(values).reshape(-1)
        weights = None if weights is None else jnp.asarray(weights).reshape(-1)
        sides = self._sides(values, self.bandwidth if bandwidth is None else bandwidth)
        weighted = sides if weights is None else sides * weights
        # Summed over the events first: one number for each edge. Bins are differences of large
        # sums, hence in float64 whatever the dtype of the events.
        sums = jnp.sum(weighted, axis=-1, dtype=jnp.float64)
        if self.flow != "drop":
            counted = jnp.ones_like(values) if weights is None else weights
            total = jnp.sum(counted, dtype=jnp.float64).reshape(1)
            sums = jnp.concatenate([-total, sums, total])
        return (0.5 * (sums[1:] - sums[:-1])).astype(weighted.dtype), sides, weights

    def _sides(self, values: jax.Array, bandwidth: Any) -> jax.Array:
        """The side of each edge on which each event lies: from -1, above it, to 1, below it."""
        edges = self.edges.astype(values.dtype)[:, None]
        if isinstance(bandwidth, (int, float)) and bandwidth == 0.0:
            # The last bin includes both its edges, as in NumPy.
            below = jnp.concatenate([values < edges[:-1], values <= edges[-1:]])
            sides = 2 * below.astype(values.dtype) - 1
            return sides[1:-1] if self.flow == "merge" else sides
        # With "merge" the outer edges are at infinity.
        edges = edges[1:-1] if self.flow == "merge" else edges
        return erf((edges - values) * (math.sqrt(0.5) / jnp.asarray(bandwidth, values.dtype)))

    def __repr__(self) -> str:
        return f"SoftHistogram(bins={self.bins}, bandwidth={self.bandwidth:g}, flow={self.flow!r})"
