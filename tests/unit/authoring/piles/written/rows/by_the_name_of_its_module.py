from up import lib
from up.lib import C

import up.lib


def g():
    return "new"


up.lib.g = g
