from up import lib


def register():
    for word in ("one", "two"):
        lib.C.m = lambda self, a, b=0: (word, a)
        lib.g = lambda: word
