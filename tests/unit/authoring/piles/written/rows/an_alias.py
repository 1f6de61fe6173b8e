from up import lib

first, second = lib.C, lib.D


def m(self, a, b=0):
    return ("new", a, b)


first.size = 3
first.new = 4
getattr(lib, "C").m = m
