"""Programs with a known truth, recorded by their framework's own profiler.

``python trace_programs.py NAME FOLDER`` runs one of them on the processor, and writes its recording
and ``truth.json`` to the folder. The truth has for each step its wall time, the time in calls that
it waits for, the time asleep in the step itself and in host code that the program calls back, and
the time asleep while the device runs. On a GPU it also has the device's own time. It names the
planted causes. `fixtures/traces/record_gpu.py` records the same programs on a GPU.
"""

import functools
import json
import os
import shutil
import sys
import time

STEPS = 6
PLANTED = 3  # the step with a change, if there is one
clock = time.monotonic_ns

# The sizes of matrices. A product takes some 20 ms on one core, and on a large GPU.
PROCESSOR = {"jax": 1200, "scan": 600, "moved": 1200, "torch": 1024, "batches": (512, 768)}
DEVICE = {"jax": 8192, "scan": 4096, "moved": 4096, "torch": 8192, "batches": (4096, 6144)}


class Step:
    """One step, and its truth."""

    def __init__(self):
        self.truth = {"wall": 0, "run": 0, "asleep": 0, "callback": 0, "hidden": 0}

    def sleep(self, seconds, what="asleep"):
        start = clock()
        time.sleep(seconds)
        self.truth[what] += clock() - start

    def run(self, wait, function, *arguments, **options):
        """Call a function and wait for its result."""
        start = clock()
        result = wait(function(*arguments, **options))
        self.truth["run"] += clock() - start
        return result


class Truth:
    def __init__(self, folder):
        self.folder = folder
        self.steps, self.facts = [], {}
        self.step = None

    def take(self, body, index):
        self.step = Step()
        start = clock()
        body(self.step, index)
        self.step.truth["wall"] = clock() - start
        self.steps.append(self.step.truth)

    def plant(self, kind, words, step=PLANTED, function=None):
        """Name the cause of a compilation that the program plants."""
        planted = {"step": step, "kind": kind, "words": words, "function": function}
        self.facts.setdefault("planted", []).append(planted)

    def write(self):
        path = os.path.join(self.folder, "truth.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.facts, "steps": self.steps}, file, indent=1)


class Jax:
    """Programs of JAX, each a method."""

    def __init__(self, folder, sizes):
        import jax
        import jax.numpy as jnp
        import numpy as np

        self.jax, self.jnp, self.np = jax, jnp, np
        self.folder, self.sizes = folder, sizes
        self.truth = Truth(folder)
        self.x = self.matrix()

    def matrix(self, size=None):
        # Half the square of such a matrix is the same matrix again.
        size = size or self.sizes["jax"]
        return self.jnp.full((size, size), 2 / size, self.jnp.float32)

    def record(self, body, warm_up=None, marked=True, steps=STEPS):
        profiler = self.jax.profiler
        if warm_up is not None:
            self.jax.block_until_ready(warm_up())
        options = profiler.ProfileOptions()
        options.host_tracer_level = 2
        options.python_tracer_level = 0
        profiler.start_trace(os.path.join(self.folder, "profile"), profiler_options=options)
        try:
            for index in range(steps):
                if marked:
                    with profiler.StepTraceAnnotation("train", step_num=index):
                        self.truth.take(body, index)
                else:
                    self.truth.take(body, index)
                self.weigh()
        finally:
            profiler.stop_trace()

    def weigh(self):
        """The bytes that the device's allocator has given out after a step."""
        memory = self.jax.local_devices()[0].memory_stats() or {}
        if "bytes_in_use" in memory:
            self.truth.steps[-1]["bytes"] = memory["bytes_in_use"]

    def measure(self, **calls):
        """The device's own time for one call of each program, without a profiler: what a longer
        queue of calls takes longer than a shorter one. Only a GPU has a queue.
        """
        if self.jax.default_backend() != "gpu":
            return

        def queued(call, count):
            start = clock()
            result = [call() for _ in range(count)][-1]
            self.jax.block_until_ready(result)
            return clock() - start

        def slope(call):
            queued(call, 2)
            return (queued(call, 9) - queued(call, 3)) / 6

        self.truth.facts["device"] = {
            name: sorted(slope(call) for _ in range(3))[1] for name, call in calls.items()
        }

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
        function = self.jax.jit(multiply)
        self.simple(function, self.x, marked=marked)
        self.measure(multiply=lambda: function(self.x))

    def unmarked(self):
        self.matmul(marked=False)

    def scan(self):
        @self.jax.jit
        def scanned(x):
            return self.jax.lax.scan(lambda c, _: (c @ c * 0.5, c.sum()), x, None, length=6)

        x = self.matrix(self.sizes["scan"])
        self.simple(scanned, x)
        self.measure(scanned=lambda: scanned(x))

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
        x = self.x
        self.measure(one=lambda: one(x), two=lambda: two(x), three=lambda: three(x))

    def host(self, value):
        """Host code that a program calls back."""
        start = clock()
        time.sleep(0.1)
        if self.truth.step is not None:
            self.truth.step.truth["callback"] += clock() - start
        return self.np.asarray(value)

    def callback(self):
        result = self.jax.ShapeDtypeStruct((), self.jnp.float32)

        @self.jax.jit
        def calling(x):
            y = x @ x * 0.5
            return (y + self.jax.pure_callback(self.host, result, y.sum())) @ x

        self.simple(calling, self.x)

    def io(self):
        from jax.experimental import io_callback

        result = self.jax.ShapeDtypeStruct((), self.jnp.float32)

        @self.jax.jit
        def writing(x):
            y = x @ x * 0.5
            return (y + io_callback(self.host, result, y.sum(), ordered=True)) @ x

        self.simple(writing, self.x)

    def donation(self):
        state = [self.matrix()]
        function = self.jax.jit(multiply, donate_argnums=0)

        def call():
            state[0] = function(state[0])
            return state[0]

        self.simple(call)
        self.measure(multiply=call)

    def pmap(self):
        # An array on one device would be distributed over all of them in every call.
        size = self.sizes["jax"]
        count = self.jax.device_count()
        full = self.jnp.full((count, size, size), 2 / size)
        spread = self.jax.pmap(lambda x: x)(full)
        self.simple(self.jax.pmap(multiply), spread)

    def eager(self):
        def call(x):
            return self.jnp.sin(x @ x) @ x

        self.simple(call, self.x)
        self.measure(eager=lambda: call(self.x))

    def transfer(self):
        """Data to the device and back around a call."""
        size = self.sizes["moved"]
        data = self.np.full((size, size), 2 / size, self.np.float32)
        function = self.jax.jit(multiply)

        def there_and_back():
            return self.np.asarray(function(self.jax.device_put(data)))

        def body(step, index):
            step.run(lambda result: result, there_and_back)
            step.sleep(0.03)

        self.truth.facts["moved-bytes"] = data.nbytes
        self.record(body, there_and_back)

    def overlap(self):
        """The host sleeps while the device runs, and again afterwards."""
        function = self.jax.jit(multiply)

        def body(step, index):
            def sleeping():
                result = function(self.x)
                step.sleep(0.01, "hidden")
                return result

            step.run(self.jax.block_until_ready, sleeping)
            step.sleep(0.03)

        self.record(body, lambda: function(self.x))
        self.measure(multiply=lambda: function(self.x))

    def larger(self):
        return self.matrix(self.sizes["jax"] + 4)

    def shape(self):
        @self.jax.jit
        def batched(x, batch):
            return (batch @ x) * 0.5

        size = self.sizes["jax"]
        batch = self.jnp.ones((size + 4, size))
        self.truth.plant("shape", f"`batch`: f32[{size},{size}] → f32[{size + 4},{size}]")
        self.changing(batched, (self.x, self.x), (self.x, batch))

    def nameless(self):
        function = self.jax.jit(lambda x: x @ x * 0.5)
        size = self.sizes["jax"]
        self.truth.plant("shape", f"f32[{size},{size}] → f32[{size + 4},{size + 4}]")
        self.changing(function, (self.x,), (self.larger(),))

    def weak(self):
        function = self.jax.jit(scaled)
        self.truth.plant("weak-type", "argument `scale`")
        self.changing(function, (self.x, self.np.float32(2)), (self.x, 2.0))

    def static(self):
        function = self.jax.jit(scaled, static_argnums=1)
        self.truth.plant("static-argument", "2 → 3")
        self.changing(function, (self.x, 2), (self.x, 3))

    def flag(self):
        function = self.jax.jit(
            lambda x, bias, used: x @ x + bias if used else x @ x, static_argnums=2
        )
        bias = self.jnp.ones(self.sizes["jax"])
        self.truth.plant("static-argument", "True → False")
        self.changing(function, (self.x, bias, True), (self.x, bias, False))

    def unused(self):
        zeros = functools.partial(self.np.zeros, dtype=self.np.float32)
        function = self.jax.jit(lambda x, extra: x @ x)
        self.truth.plant("shape", "argument `extra`: f32[4] → f32[5]; the program does not use")
        self.changing(function, (self.x, zeros(4)), (self.x, zeros(5)))

    def closure(self):
        def call():
            def inner(x):
                return x @ x

            return self.jax.jit(inner)(self.x)

        for index in range(1, STEPS):
            self.truth.plant("new-function", os.path.basename(__file__), index, "inner")
        self.simple(call, warm=False)

    def causes(self):
        """Every cause, one after another."""
        jax, jnp, np = self.jax, self.jnp, self.np
        x = jnp.ones((64, 64))
        compiled = {f.__name__: jax.jit(f) for f in (plain, ignoring, product)}
        compiled["power"] = jax.jit(power, static_argnames="n")

        def made():
            def inner(x):
                return x @ x + 2

            return jax.jit(inner)

        def call(index):
            if index == 7:
                jax.config.update("jax_default_matmul_precision", "float32")
            if index == 8:
                jax.clear_caches()
            compiled["ignoring"](x, np.zeros(5 if index == 2 else 4, np.float32))
            compiled["product"](x, 2.0 if index == 3 else np.float32(2))
            compiled["power"](x, n=3 if index == 4 else 2)
            if index in (1, 5):
                made()(x)
            if index in (1, 6):
                jax.jit(functools.partial(shifted, 3.0))(x)
            return compiled["plain"](x)

        def body(step, index):
            step.run(jax.block_until_ready, call, index)
            step.sleep(0.03)

        words = "argument `extra`: f32[4] → f32[5]; the program does not use"
        self.truth.plant("shape", words, 2, "ignoring")
        self.truth.plant("weak-type", "argument `scale`", 3, "product")
        self.truth.plant("static-argument", "static argument `n`: 2 → 3", 4, "power")
        file = os.path.basename(__file__)
        self.truth.plant("new-function", file, 5, "inner")
        self.truth.plant("new-function", file, 6, "shifted")
        words = "`jax_default_matmul_precision`: "
        self.truth.plant("setting", words, 7, "plain")
        self.truth.plant("cleared-cache", "jax.clear_caches", 8, "plain")
        precision = jax.config.jax_default_matmul_precision
        try:
            self.record(body, steps=9)
        finally:
            jax.config.update("jax_default_matmul_precision", precision)


def multiply(x):
    return x @ x * 0.5


def scaled(x, scale):
    return x @ x * scale


def plain(x):
    return x @ x + 1


def ignoring(x, extra):
    return x @ x


def product(x, scale):
    return x @ x * scale


def power(x, n):
    return x @ x * n


def shifted(by, x):
    return x @ x + by


class Torch:
    """Programs of PyTorch, each a method that returns a function and its arguments in each step."""

    def __init__(self, folder, sizes):
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.torch, self.folder, self.sizes = torch, folder, sizes
        self.size = sizes["torch"]
        self.cuda = torch.cuda.is_available()
        self.device = "cuda" if self.cuda else "cpu"
        self.truth = Truth(folder)
        self.events = []
        # Inductor needs a compiler; for the processor it would also take long.
        compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
        backend = "inductor" if self.cuda and compiler else "aot_eager"
        self.truth.facts["backend"] = backend
        self.compile = functools.partial(torch.compile, backend=backend)

    def program(self, name):
        """Record a program, with its steps marked or not."""
        function, arguments = getattr(self, name.removesuffix("-unmarked"))()

        def body(step, index):
            # Operators create the arguments, so creating them is execution too.
            step.run(self.wait, lambda: self.timed(function, arguments(index), step))
            step.sleep(0.03)

        for _ in range(2):
            self.wait(function(*arguments(0)))
        self.record(body, not name.endswith("-unmarked"))

    def wait(self, result):
        if self.cuda:
            self.torch.cuda.synchronize()
        return result

    def timed(self, function, arguments, step):
        """Call a function between two events of the device."""
        if not self.cuda:
            return function(*arguments)
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        result = function(*arguments)
        end.record()
        self.events.append((step, start, end))
        return result

    def record(self, body, marked=True):
        profiler = self.torch.profiler
        kinds = [profiler.ProfilerActivity.CPU]
        if self.cuda:
            kinds.append(profiler.ProfilerActivity.CUDA)
        schedule = profiler.schedule(wait=0, warmup=0, active=STEPS + 1) if marked else None
        with profiler.profile(activities=kinds, record_shapes=True, schedule=schedule) as profile:
            for index in range(STEPS):
                self.truth.take(body, index)
                profile.step()
        folder = os.path.join(self.folder, "profile")
        os.makedirs(folder, exist_ok=True)
        profile.export_chrome_trace(os.path.join(folder, "worker.pt.trace.json"))
        for step, start, end in self.events:
            step.truth["device"] = int(start.elapsed_time(end) * 1e6)

    def model(self):
        torch, size = self.torch, self.size

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

        return Model().to(self.device)

    def ones(self, *shape, dtype=None):
        return self.torch.ones(*shape, dtype=dtype, device=self.device)

    def eager(self):
        model = self.model()
        rows = self.sizes["batches"][1]
        return lambda x: model(x).backward(), lambda index: (self.ones(rows, self.size),)

    def dynamic(self):
        few, many = self.sizes["batches"]
        self.truth.plant("guard", f"expected {few}, actual {many}", function="forward")

        def arguments(index):
            return (self.ones(many if index >= PLANTED else few, self.size),)

        return self.compile(self.model()), arguments

    def dtype(self):
        single, double = self.torch.float32, self.torch.float64
        self.truth.plant("guard", "dtype mismatch", function="squared")

        def arguments(index):
            kind = double if index == PLANTED else single
            return (self.ones(self.size, self.size, dtype=kind),)

        return self.compile(squared), arguments

    def attribute(self, model=None):
        model = model or self.model()
        rows = self.sizes["batches"][1]
        self.truth.plant("guard", "self.flag == True", function="forward")

        def arguments(index):
            model.flag = index != PLANTED
            return (self.ones(rows, self.size),)

        return self.compile(model), arguments

    def weights(self):
        """Without the flag, the code does not use the second layer."""

        def forward(self, x):
            y = self.first(x).relu()
            return (self.last(y) if self.flag else y @ y.T).sum()

        model = self.model()
        type(model).forward = forward
        return self.attribute(model)

    def broken(self):
        """A graph that a call of `print` breaks."""
        place = f"{os.path.basename(__file__)}:{printing.__code__.co_firstlineno + 2}"
        self.truth.facts["graph-break"] = place
        return self.compile(printing), lambda index: (self.ones(self.size, self.size),)

    def transfer(self):
        """Data to the device and back around a product."""
        torch = self.torch
        size = self.sizes["moved"]
        data = torch.full((size, size), 2 / size, pin_memory=self.cuda)
        back = torch.empty((size, size), pin_memory=self.cuda)
        self.truth.facts["moved-bytes"] = data.nbytes

        def there_and_back(data):
            x = data.to(self.device, non_blocking=True)
            return back.copy_(x @ x, non_blocking=True)

        return there_and_back, lambda index: (data,)

    def overlap(self):
        """The host sleeps while the device runs."""
        x = self.ones(self.size, self.size)

        def call(x):
            result = x @ x
            if self.truth.step is not None:
                self.truth.step.sleep(0.01, "hidden")
            return result

        return call, lambda index: (x,)


def squared(x):
    return (x @ x).relu().sum()


def printing(x):
    y = x @ x
    print("a graph break", file=sys.stderr)
    return (y + 1).sum()


def record(name, folder, sizes):
    """Record one program, and write its truth."""
    os.makedirs(folder, exist_ok=True)
    if name.startswith("torch-"):
        programs = Torch(folder, sizes)
        programs.program(name.removeprefix("torch-"))
    else:
        programs = Jax(folder, sizes)
        getattr(programs, name)()
    programs.truth.write()


if __name__ == "__main__":
    if sys.argv[1] == "pmap":
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
    record(sys.argv[1], sys.argv[2], PROCESSOR)
