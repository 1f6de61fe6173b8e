from up import lib


def first():
    old = lib.g
    lib.g = lambda: ("first", old())


def second():
    old = lib.g
    lib.g = lambda: ("second", old())


def register():
    first()
    second()
