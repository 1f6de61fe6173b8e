from up import lib

KEPT = {}


def register():
    for name in ("f", "g"):
        KEPT[name] = getattr(lib, name)

        def inner(*args, name=name, **words):
            return (name, KEPT[name](*args, **words))

        setattr(lib, name, inner)
