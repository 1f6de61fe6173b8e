import functools, math, operator


def function(x: int, *, flag: bool = False) -> str:
    "What it does."
    return f"{x} {flag}"


class Base:
    def inherited(self):
        return self


class Thing(Base):
    def __new__(cls, *args):
        return super().__new__(cls)

    def __init__(self, x=0):
        self.x = x

    def __call__(self, y):
        return self.x + y

    def method(self, y, z=1):
        return self.x + y * z

    @staticmethod
    def static(y):
        return y

    @classmethod
    def klass(cls, y):
        return cls, y

    @property
    def size(self):
        return self.x

    @size.setter
    def size(self, value):
        self.x = value

    @functools.cached_property
    def cached(self):
        return object()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)

    writable = property(None, lambda self, value: None)
    partial = functools.partialmethod(method, 1)
    number = 3


class Sub(Thing): ...


instance = Thing(5)
calling = Thing(5)
builtin = math.sqrt


@functools.lru_cache
def remembered(x):
    return object()
