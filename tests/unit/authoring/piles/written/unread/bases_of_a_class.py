from up import lib


class Mixin:
    def m(self, a, b=0):
        return ("mixin", a)


class Base(Mixin, lib.C):
    pass


def register():
    lib.D.__bases__ = (Base,)
