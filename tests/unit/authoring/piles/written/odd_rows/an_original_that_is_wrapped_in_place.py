from up import lib, user
from up.lib import C

def around(f):
    return lambda *a, **k: ('new', f(*a, **k))


lib.g = around(
    lib.g
)
