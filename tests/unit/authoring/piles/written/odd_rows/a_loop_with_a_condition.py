from up import lib, user
from up.lib import C

for name in ("m", "new"):
    if hasattr(C, name):
        setattr(C, name, lambda *_: 0)
lib.extra = 1
