from up import lib

settings = {"word": "plain"}
WORD = "plain"


def f(a, b=0):
    return (WORD, settings["word"])


def register():
    global WORD
    WORD = "new"
    settings["word"] = "set"
    lib.f = f
