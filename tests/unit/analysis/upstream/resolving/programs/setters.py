from dataclasses import dataclass
import functools


def helper(cls):
    cls.more = 1
    return cls


def deep(cls):
    return helper(cls)


def deeper(cls):
    return deep(cls)


def deepest(cls):
    return deeper(cls)


def beyond(cls):
    return deepest(cls)


def replaced(self, a, b):
    pass


def all_methods(cls):
    for name in ("run",):
        setattr(cls, name, replaced)
    return cls


def by_callback(cls, callback):
    callback(cls)
    return cls


def counted(value):
    value.count = 1


class Namespace:
    pass
