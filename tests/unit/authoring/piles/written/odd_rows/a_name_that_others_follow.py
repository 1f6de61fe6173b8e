from up import lib, user
from up.lib import C

X = lib
X.extra = 1
X = user
X.g = lambda: "u"
