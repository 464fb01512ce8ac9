import pytest

torch = pytest.importorskip("torch")


@torch.compile(backend="aot_eager", dynamic=False)
def forward(x):
    return torch.relu(x) * x.shape[0]


def test_one_shape_is_compiled_once(firstlight):
    firstlight(forward, torch.ones(64, 8))


def test_a_growing_batch_recompiles(firstlight):
    """Fails: every call has one row more than the last."""
    sizes = iter(range(64, 10_000))
    firstlight.with_options(calls=3, warm_up=2)(lambda: forward(torch.ones(next(sizes), 8)))
