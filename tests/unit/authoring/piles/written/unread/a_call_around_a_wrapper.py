from up import lib

old = lib.g


def g():
    return ("import", old())


lib.g = g


def register():
    for name in "gf":
        inner = getattr(lib, name)
        setattr(lib, name, lambda *args, inner=inner: ("call", inner(*args)))
