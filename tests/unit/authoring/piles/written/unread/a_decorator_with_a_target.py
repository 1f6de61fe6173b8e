from up import lib


def patches(owner, name):
    def put(function):
        old = getattr(owner, name)

        def inner(*args, **words):
            return function(old, *args, **words)

        setattr(owner, name, inner)
        return function

    return put


@patches(lib, "f")
def f(old, a, b=0):
    return ("new", old(a, b))


@patches(lib.C, "m")
def m(old, self, a, b=0):
    return ("new", old(self, a, b))
