"""One cold training step under torch.compile."""

import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))


@torch.compile
def loss(inputs: torch.Tensor) -> torch.Tensor:
    return model(inputs).square().mean()


loss(torch.randn(8, 64)).backward()
