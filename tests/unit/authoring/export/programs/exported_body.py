from __future__ import annotations

import os
from json import dumps
from up.lib import f
from up.other import deep

BIG = 7
names = "it is no list"
MIDDLE, REST = divmod(7, 2)


def g(a, how=dumps):
    return helper(a) + deep(f(a)) + len(os.sep)


def helper(a):
    return a * BIG


def parse(text):
    return dumps(text)


def above(a):
    return a + MIDDLE


class Config:
    def grow(self):
        return self.size


def around(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)


def serve(module):
    module.x = 1
