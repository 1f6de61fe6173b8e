from up import lib


class Patch:
    def __init_subclass__(cls, target, **words):
        for name, value in vars(cls).items():
            if not name.startswith("__"):
                setattr(target, name, value)


class OfC(Patch, target=lib.C):
    size = 3

    def m(self, a, b=0):
        return ("of c", a)

    @property
    def p(self):
        return "new p"
