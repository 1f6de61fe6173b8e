from up import lib


def register():
    old = lib.Call.made

    def made(cls, a=1):
        return ("new", old(a))

    lib.Call.made = classmethod(made)
