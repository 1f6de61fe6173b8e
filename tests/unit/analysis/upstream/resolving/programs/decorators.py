import functools


def same(f):
    registry.append(f)
    return f


def with_name(name):
    def put(f):
        return f

    return put


def both(f=None, *, a=1):
    def put(f):
        return f

    if f is None:
        return put
    return put(f)


def wraps(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)

    return inner


def wraps_async(f):
    @functools.wraps(f)
    async def inner(*args, **kwargs): ...

    return inner


def other(f):
    return lambda: f


def rebinds(f):
    f = partial(f)
    return f


class Registry:
    def register(self, name):
        def put(f):
            return f

        return put


REGISTRY = Registry()
