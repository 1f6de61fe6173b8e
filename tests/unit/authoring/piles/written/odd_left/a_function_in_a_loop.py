from up import lib, user
from up.lib import C

for owner in (lib.C, lib.D):

    def f(self, a, b=0, owner=owner):
        return owner.__name__

    owner.m = f


C.new = 1
