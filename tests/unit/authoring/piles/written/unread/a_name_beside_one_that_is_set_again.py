from up import lib


def f(a, b=0):
    return "first"


lib.Call.word = 20
lib.f = f
exec("lib.Call.word += 10")
