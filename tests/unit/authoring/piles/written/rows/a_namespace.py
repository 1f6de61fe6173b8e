from up import lib


def f(a, b=0):
    return ("new", a, b)


vars(lib)["f"] = f
lib.__dict__["extra"] = 1
