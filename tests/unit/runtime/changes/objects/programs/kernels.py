launches = []


class StandInKernel:
    "What Triton makes of a function, as far as launching goes; it has no other job here."

    def __init__(self, fn):
        self.fn, self.arg_names = fn, ["x", "BLOCK"]

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(
            *args, grid=grid, warmup=False, **kwargs
        )

    def run(self, *args, grid, warmup, **kwargs):
        launches.append((self.fn(*args), grid, warmup, kwargs))


class StandInTuner(StandInKernel):
    def run(self, *args, **kwargs):
        return self.fn.run(*args, num_warps=4, **kwargs)


def double(x):
    return 2 * x


kernel = StandInKernel(double)
tuned = StandInTuner(kernel)
copy = kernel
