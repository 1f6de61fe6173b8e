from up import lib
from up.lib import C

if hasattr(lib, "g"):
    lib.g = lambda: "new"
else:
    lib.extra = 1
