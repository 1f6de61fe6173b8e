from up import lib


def patch(owner):
    def put(cls):
        for name in ("m", "p", "fresh"):
            setattr(owner, name, vars(cls)[name])
        return owner

    return put


@patch(lib.C)
class Patched:
    def m(self, a, b=0):
        return ("m", self.fresh(), a)

    @property
    def p(self):
        return "decorated"

    def fresh(self):
        return "fresh"
