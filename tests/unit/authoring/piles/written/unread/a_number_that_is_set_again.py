from up import lib


def f(a, b=0):
    return "first"


def other(a, b=0):
    return "second"


lib.LIMIT = 20
lib.f = f
for name in ["LI" + "MIT"]:
    setattr(lib, name, 30)
for name, value in {"f": other}.items():
    vars(lib)[name] = value
