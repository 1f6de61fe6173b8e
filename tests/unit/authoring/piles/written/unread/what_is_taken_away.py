from up import kinds, lib


def register():
    del lib.D
    delattr(lib.C, "p")
    del lib.TABLE["a"]
    kinds.NAMES.clear()
