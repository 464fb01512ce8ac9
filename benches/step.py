"""One cold training step in JAX, as a script. Usage: step.py MODEL."""

import sys

import jax
import models

workload = models.workload(sys.argv[1])
jax.block_until_ready(workload.step(*workload.args))
