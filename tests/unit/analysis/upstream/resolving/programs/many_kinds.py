import functools, os.path, json as j
from contextlib import contextmanager


def function(a, *, b=1): ...
async def coroutine(): ...
@functools.lru_cache
def cached(a): ...
@contextmanager
def manager(a):
    yield


class Class:
    def method(self, a): ...
    async def waiting(self): ...
    @staticmethod
    def static(a): ...
    @classmethod
    def of(cls, a): ...
    @property
    def prop(self): ...
    @prop.setter
    def prop(self, value): ...
    @functools.cached_property
    def once(self): ...

    level = 3

    class Inner:
        def deep(self): ...

    alias = method
    other = staticmethod(function)
    plain = function

    def __new__(cls, a): ...


number = 3
table = {"a": function, "b": 2, "c": 3}
rows = [1, Class]
made = function(1)
instance = Class(1)
new_name = function
short = lambda a: a
