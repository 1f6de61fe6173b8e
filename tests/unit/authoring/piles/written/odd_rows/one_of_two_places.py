from up import lib, user
from up.lib import C

if not lib:
    X = lib
else:
    X = user
X.g = lambda: 0
lib.extra = 1
