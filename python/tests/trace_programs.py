"""Programs with a known truth, recorded by their framework's own profiler.

``python trace_programs.py NAME FOLDER`` runs one of them, and writes its recording and
``truth.json`` to the folder. The truth has for each step its wall time, the time in calls that it
waits for, and the time asleep in the step itself and in host code that the program calls back.
"""

import functools
import json
import os
import sys
import time

NAME, FOLDER = sys.argv[1], sys.argv[2]
STEPS = 6
PLANTED = 3  # the step with a change, if there is one
clock = time.monotonic_ns


class Step:
    """One step, and its truth."""

    def __init__(self):
        self.truth = {"wall": 0, "run": 0, "asleep": 0, "callback": 0}

    def sleep(self, seconds):
        start = clock()
        time.sleep(seconds)
        self.truth["asleep"] += clock() - start

    def run(self, wait, function, *arguments, **options):
        """Call a function and wait for its result."""
        start = clock()
        result = wait(function(*arguments, **options))
        self.truth["run"] += clock() - start
        return result


class Truth:
    def __init__(self):
        self.steps = []
        self.step = None

    def take(self, body, index):
        self.step = Step()
        start = clock()
        body(self.step, index)
        self.step.truth["wall"] = clock() - start
        self.steps.append(self.step.truth)

    def write(self):
        with open(os.path.join(FOLDER, "truth.json"), "w", encoding="utf-8") as file:
            json.dump(self.steps, file)


TRUTH = Truth()


class Jax:
    """Programs of JAX, each a method."""

    def __init__(self):
        if NAME == "pmap":
            os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
        import jax
        import jax.numpy as jnp
        import numpy as np

        self.jax, self.jnp, self.np = jax, jnp, np
        self.x = self.matrix()

    def matrix(self, size=1200):
        return self.jnp.full((size, size), 1e-3, self.jnp.float32)

    def record(self, body, warm_up=None, marked=True):
        profiler = self.jax.profiler
        if warm_up is not None:
            self.jax.block_until_ready(warm_up())
        options = profiler.ProfileOptions()
        options.host_tracer_level = 2
        options.python_tracer_level = 0
        profiler.start_trace(FOLDER, profiler_options=options)
        for index in range(STEPS):
            if marked:
                with profiler.StepTraceAnnotation("train", step_num=index):
                    TRUTH.take(body, index)
            else:
                TRUTH.take(body, index)
        profiler.stop_trace()

    def simple(self, function, *arguments, warm=True, marked=True):
        """Call a function in each step, and sleep."""

        def body(step, index):
            step.run(self.jax.block_until_ready, function, *arguments)
            step.sleep(0.03)

        self.record(body, (lambda: function(*arguments)) if warm else None, marked)

    def changing(self, function, before, after):
        """Call a function with other arguments in one step."""

        def body(step, index):
            arguments = after if index == PLANTED else before
            step.run(self.jax.block_until_ready, function, *arguments)
            step.sleep(0.03)

        self.record(body, lambda: function(*before))

    def matmul(self, marked=True):
        self.simple(self.jax.jit(multiply), self.x, marked=marked)

    def unmarked(self):
        self.matmul(marked=False)

    def scan(self):
        @self.jax.jit
        def scanned(x):
            return self.jax.lax.scan(lambda c, _: (c @ c * 0.5, c.sum()), x, None, length=6)

        self.simple(scanned, self.matrix(600))

    def three(self):
        @self.jax.jit
        def one(x):
            return x @ x * 1e-3

        @self.jax.jit
        def two(x):
            return x @ x * 2e-3

        @self.jax.jit
        def three(x):
            return x @ x + 1

        def body(step, index):
            for function, seconds in ((one, 0.02), (two, 0.03), (three, 0.04)):
                step.run(self.jax.block_until_ready, function, self.x)
                step.sleep(seconds)

        self.record(body, lambda: [one(self.x), two(self.x), three(self.x)])

    def callback(self):
        def host(value):
            start = clock()
            time.sleep(0.1)
            if TRUTH.step is not None:
                TRUTH.step.truth["callback"] += clock() - start
            return self.np.asarray(value)

        result = self.jax.ShapeDtypeStruct((), self.jnp.float32)

        @self.jax.jit
        def calling(x):
            y = x @ x * 0.5
            return (y + self.jax.pure_callback(host, result, y.sum())) @ x

        self.simple(calling, self.x)

    def donation(self):
        state = [self.matrix()]
        function = self.jax.jit(multiply, donate_argnums=0)

        def call():
            state[0] = function(state[0])
            return state[0]

        self.simple(call)

    def pmap(self):
        # An array on one device would be distributed over all of them in every call.
        spread = self.jax.pmap(lambda x: x)(self.jnp.full((4, 1200, 1200), 1e-3))
        self.simple(self.jax.pmap(multiply), spread)

    def eager(self):
        self.simple(lambda x: self.jnp.sin(x @ x) @ x, self.x)

    def nameless(self):
        function = self.jax.jit(lambda x: x @ x * 0.5)
        self.changing(function, (self.x,), (self.matrix(1204),))

    def weak(self):
        function = self.jax.jit(scaled)
        self.changing(function, (self.x, self.np.float32(2)), (self.x, 2.0))

    def static(self):
        function = self.jax.jit(scaled, static_argnums=1)
        self.changing(function, (self.x, 2), (self.x, 3))

    def flag(self):
        function = self.jax.jit(
            lambda x, bias, used: x @ x + bias if used else x @ x, static_argnums=2
        )
        bias = self.jnp.ones(1200)
        self.changing(function, (self.x, bias, True), (self.x, bias, False))

    def unused(self):
        zeros = functools.partial(self.np.zeros, dtype=self.np.float32)
        function = self.jax.jit(lambda x, extra: x @ x)
        self.changing(function, (self.x, zeros(4)), (self.x, zeros(5)))

    def closure(self):
        def call():
            def inner(x):
                return x @ x

            return self.jax.jit(inner)(self.x)

        self.simple(call, warm=False)


def multiply(x):
    return x @ x * 0.5


def scaled(x, scale):
    return x @ x * scale


def torch_program():
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    size = 1024

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(size, size)
            self.last = torch.nn.Linear(size, size)
            self.flag = True

        def forward(self, x):
            y = torch.relu(self.first(x))
            if self.flag:
                y = y * 2
            return self.last(y).sum()

    model = Model()
    compiled = torch.compile(model, backend="aot_eager")

    def record(body, marked=True):
        kinds = [torch.profiler.ProfilerActivity.CPU]
        schedule = torch.profiler.schedule(wait=0, warmup=0, active=STEPS + 1) if marked else None
        with torch.profiler.profile(
            activities=kinds, record_shapes=True, schedule=schedule
        ) as profile:
            for index in range(STEPS):
                TRUTH.take(body, index)
                profile.step()
        profile.export_chrome_trace(os.path.join(FOLDER, "worker.pt.trace.json"))

    def stepping(function, arguments, marked):
        def body(step, index):
            # Operators create the arguments, so creating them is execution too.
            step.run(lambda result: result, lambda: function(*arguments(index)))
            step.sleep(0.03)

        function(*arguments(0))
        record(body, marked)

    def attribute(index):
        model.flag = index != PLANTED
        return (torch.ones(768, size),)

    class Gated(Model):
        def forward(self, x):
            y = torch.relu(self.first(x))
            return (self.last(y) if self.flag else y @ y.T).sum()

    gated = Gated()

    def weights(index):
        gated.flag = index != PLANTED
        return (torch.ones(768, size),)

    def product(x):
        return (x @ x).relu().sum()

    def typed(index):
        return (torch.ones(size, size, dtype=torch.float64 if index == PLANTED else torch.float32),)

    marked = not NAME.endswith("-unmarked")
    programs = {
        "eager": (lambda x: model(x).backward(), lambda index: (torch.ones(768, size),)),
        "dynamic": (compiled, lambda index: (torch.ones(768 if index >= PLANTED else 512, size),)),
        "dtype": (torch.compile(product, backend="aot_eager"), typed),
        "attribute": (compiled, attribute),
        "weights": (torch.compile(gated, backend="aot_eager"), weights),
    }
    stepping(*programs[NAME.removeprefix("torch-").removesuffix("-unmarked")], marked)


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    if NAME.startswith("torch-"):
        torch_program()
    else:
        getattr(Jax(), NAME)()
    TRUTH.write()
