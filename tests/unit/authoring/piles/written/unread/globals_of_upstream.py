from up import lib


def g():
    return "new"


def register():
    lib.use_g.__globals__["g"] = g
    vars(lib)["LIMIT"] = 20
