from importlib import import_module

TABLE = {"up.lib": {"f": "first", "g": "second"}, "up.kinds": {"limit": "third"}}


def first(a, b=0):
    return ("first", a)


def second():
    return "second"


def third(*_):
    return "third"


def register():
    for module, names in TABLE.items():
        for name, own in names.items():
            setattr(import_module(module), name, globals()[own])
