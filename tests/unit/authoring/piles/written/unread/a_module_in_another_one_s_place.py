import sys
import types

from up import kinds


def register():
    new = types.ModuleType("up.kinds")
    vars(new).update(vars(kinds))
    new.limit = lambda *_: "new module"
    sys.modules["up.kinds"] = new
    sys.modules["up"].kinds = new
