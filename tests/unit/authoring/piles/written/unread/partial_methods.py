import functools

from up import lib


def register():
    lib.C.m = functools.partialmethod(lib.C.m, 8)
    lib.C.p = property(
        functools.partial(getattr, name="size") if False else lambda self: self.size
    )
    lib.C.lazy = functools.cached_property(lambda self: "lazy")
