from up import lib


def register():
    word = "new"
    old = lib.Call.made.__func__

    @classmethod
    def made(cls, a=1):
        return (word, old(cls, a))

    @staticmethod
    def s(a):
        return (word, a)

    lib.Call.made = made
    lib.C.s = s
