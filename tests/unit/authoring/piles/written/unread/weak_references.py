import weakref

from up import kinds, lib


class Kept:
    pass


KEPT = Kept()


def register():
    reference = weakref.ref(KEPT)
    lib.g = lambda: type(reference()).__name__
    kinds.REGISTRY.finder = weakref.proxy(KEPT)
