from up import lib


def register():
    class C(lib.C):
        size = 40

        def m(self, a, b=0):
            return ("mine", *super().m(a, b))

    lib.C = C
