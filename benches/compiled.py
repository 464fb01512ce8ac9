"""One cold training step under torch.compile, on the GPU if there is one."""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
model.to(device)


@torch.compile
def loss(inputs: torch.Tensor) -> torch.Tensor:
    return model(inputs).square().mean()


loss(torch.randn(8, 64, device=device)).backward()
