from up import lib


class Patcher:
    word = "new"

    def apply(self):
        word = self.word
        lib.g = lambda: word
        lib.C.size = 9


def register():
    Patcher().apply()
