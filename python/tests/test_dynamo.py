"""The names and shapes that the adapter of torch.compile reads, with a fake torch."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from firstlight.adapters import dynamo


class Tensor:
    def __init__(self, dtype: str, *shape: int) -> None:
        self.dtype = dtype
        self.shape = shape


class Reshape:
    """A user's module with a shape of its own, and no dtype."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise RuntimeError("this is the user's business")


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torch")
    module.Tensor = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


def test_tensors_are_shown_and_other_things_with_a_shape_left_alone() -> None:
    values = {"self": Reshape(), "x": Tensor("torch.float32", 8, 128), "n": 3}
    assert dynamo._shapes(values) == "float32[8,128]"
    assert dynamo._shapes({"self": Reshape()}) is None


def test_many_tensors_are_shortened_with_a_count() -> None:
    values = {str(n): Tensor("torch.int64", n) for n in range(dynamo.SHOWN_ARGUMENTS + 2)}
    shown = dynamo._shapes(values)
    assert shown is not None and shown.startswith("int64[0], int64[1]")
    assert shown.endswith("… 2 more")
