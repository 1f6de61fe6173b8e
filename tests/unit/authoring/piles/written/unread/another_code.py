from up import lib


def register():
    def f(a, b=0):
        return ("new", a, b)

    lib.f.__code__ = f.__code__
    lib.with_default.__defaults__ = (7,)
