from up import lib
from up.lib import C

setattr(C, "m", lambda self, a, b=0: "new")
