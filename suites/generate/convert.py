"""Convert PyTorch's GPT-2 weights, under their published names, to the tree of `gpt2.py`.

GPT-2's linear layers are stored as (in, out), as `x @ w` requires, so nothing is transposed.
"""

import numpy as np

BLOCK = {
    "ln_1": "ln_1",
    "qkv": "attn.c_attn",
    "out": "attn.c_proj",
    "ln_2": "ln_2",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}


def load(path):
    """Return the tree of a safetensors file."""
    from safetensors.numpy import load_file

    return from_torch(load_file(path))


def from_torch(state):
    """Return the tree of a state dict, whose values may be tensors or arrays."""
    names = [name.removeprefix("transformer.") for name in state]
    state = dict(zip(names, map(_array, state.values())))
    layers = 1 + max(int(name.split(".")[1]) for name in names if name.startswith("h."))
    return {
        "wte": state["wte.weight"],
        "wpe": state["wpe.weight"],
        "blocks": [_block(state, f"h.{layer}.") for layer in range(layers)],
        "ln_f": _norm(state, "ln_f"),
    }


def to_torch(tree):
    """Return a state dict of arrays from a tree."""
    state = {"wte.weight": tree["wte"], "wpe.weight": tree["wpe"]}
    named = [
        (f"h.{i}.{BLOCK[name]}", layer)
        for i, block in enumerate(tree["blocks"])
        for name, layer in block.items()
    ]
    for name, layer in [*named, ("ln_f", tree["ln_f"])]:
        state[f"{name}.weight"] = layer["w" if "w" in layer else "scale"]
        state[f"{name}.bias"] = layer["b" if "b" in layer else "bias"]
    return state


def _block(state, prefix):
    return {
        name: _norm(state, prefix + stored)
        if name.startswith("ln_")
        else _linear(state, prefix + stored)
        for name, stored in BLOCK.items()
    }


def _norm(state, name):
    return {"scale": state[f"{name}.weight"], "bias": state[f"{name}.bias"]}


def _linear(state, name):
    return {"w": state[f"{name}.weight"], "b": state[f"{name}.bias"]}


def _array(value):
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value, np.float32)
