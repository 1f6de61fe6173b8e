from up import lib

WAITING = []


def later(name):
    def put(function):
        WAITING.append((name, function))
        return function

    return put


@later("f")
def first(a, b=0):
    return ("first", a)


@later("g")
def second():
    return "second"


def register():
    while WAITING:
        setattr(lib, *WAITING.pop())
