from up import lib

old = lib.g


def g():
    return ("import", old())


lib.g = g
lib.C.size = 5


def register():
    inner = lib.g
    lib.g = lambda: ("call", inner())
    lib.C.size += 1
    lib.LIMIT = 3
