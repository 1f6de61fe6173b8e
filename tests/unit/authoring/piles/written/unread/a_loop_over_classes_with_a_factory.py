from up import lib


def loud(owner):
    old = owner.m

    def m(self, a, b=0):
        return (owner.__name__, old(self, a, b))

    return m


for owner in (lib.C, lib.D):
    owner.m = loud(owner)
