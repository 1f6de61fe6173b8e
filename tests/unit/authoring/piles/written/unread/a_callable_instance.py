from up import lib


class Patch:
    def __init__(self, original):
        self.original = original

    def __call__(self, *args, **words):
        return ("patched", self.original(*args, **words))

    def __enter__(self):
        lib.f = self

    def __exit__(self, *_):
        pass


with Patch(lib.f):
    pass
