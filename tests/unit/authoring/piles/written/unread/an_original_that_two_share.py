from up import kinds, lib


def register():
    original = lib.f

    def one(a, b=0):
        return ("one", original(a, b))

    def two(*args):
        return ("two", original(1))

    lib.f, kinds.limit = one, two
