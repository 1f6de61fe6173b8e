from up import lib
from up.lib import C

from up import user


def g():
    return "new"


for one in (lib, user):
    one.g = g
