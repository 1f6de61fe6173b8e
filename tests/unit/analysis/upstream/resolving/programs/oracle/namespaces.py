"""Code that changes the names of its own module, and star imports of changing lists."""


# program: deleted by key
# sure: kept
def f(): ...
def kept(): ...


del globals()["f"]


# program: popped
# sure: kept
def f(): ...
def kept(): ...


globals().pop("f")


# program: popped with default
def f(): ...


globals().pop("f", None)

# program: alias with a comment
# sure: kept
ns = globals()  # note


def g(a): ...
def kept(): ...


ns["f"] = g
ns["g"] = lambda x, y: 1


# program: alias deleted
def f(): ...


ns = globals()  # note
del ns["f"]

# program: vars of own module
import sys

me = sys.modules[__name__]


def f(a): ...


vars(me)["f"] = lambda x, y: 1
vars(me)["g"] = 1

# program: vars of own module deleted
import sys


def f(a): ...
def kept(): ...


del vars(sys.modules[__name__])["f"]

# program: dict of own module
import sys


def f(a): ...
def kept(): ...


sys.modules[__name__].__dict__.update(f=lambda x, y: 1, g=2)

# program: dict of own module popped
import sys


def f(a): ...


sys.modules[__name__].__dict__.pop("f")

# program: delattr of own module
import sys


def f(a): ...
def kept(): ...


delattr(sys.modules[__name__], "f")

# program: setattr of own module
import sys


def f(a): ...


setattr(sys.modules[__name__], "f", lambda x, y: 1)
setattr(sys.modules[__name__], "g", 1)

# program: setattr of a variable for own module
import sys

this = sys.modules[__name__]


def f(a): ...


setattr(this, "f", lambda x, y: 1)
setattr(this, "g", 1)
this.h = 3
del this.f


# program: exec deletes
def f(): ...


exec("del f")


# program: exec replaces
def f(a): ...


exec("def f(x, y): ...\ndef g(): ...")


# program: exec within if
def f(a): ...


if True:
    exec("def f(x, y): ...\ndef g(): ...")


# program: exec assigned
def f(a): ...


done = exec("def f(x, y): ...\ndef g(): ...")


# program: exec into globals
def f(a): ...
def run():
    exec("def f(x, y): ...\ndef g(): ...", globals())


run()


# program: exec in a list
def f(a): ...


[exec(code) for code in ("def f(x, y): ...", "g = 1")]

# program: exec builtins
import builtins


def f(a): ...


builtins.exec("f = 1; g = 1")


# program: locals of module
def f(a): ...


locals()["f"] = 1
locals()["g"] = 1


def kept(): ...


# program: locals update
def f(a): ...


locals().update(f=1, g=2)


# program: globals or
def f(a): ...


globals().__setitem__("f", 1)
globals().__delitem__("f")


# program: globals ior
def f(a): ...


ns = globals()
ns |= {"f": 1, "g": 2}

# program: global in called function
counter = 0


def kept(a): ...
def fix():
    global kept, more
    kept = lambda x, y: 1
    more = 2


fix()


# program: global deleted in called function
def f(a): ...
def fix():
    global f
    del f


fix()


# program: function deletes through globals
def f(a): ...
def fix():
    del globals()["f"]


fix()


# program: function sets through globals
def f(a): ...
def fix(name):
    globals()[name] = lambda x, y: 1


fix("f")
fix("g")


# program: loop deletes
def f(): ...
def g(): ...


for name in ("f", "g"):
    del globals()[name]


# program: comprehension over names
def _f(): ...
def _g(): ...
def kept(a): ...


for name in [n for n in globals() if n.startswith("_f")]:
    del globals()[name]

# program: passes itself to other module
import sys
from up.setter import run


def f(a): ...


run(sys.modules[__name__])


# file: setter
def run(module):
    module.f = lambda x, y: 1
    module.g = 2


# program: passes its name to other module
from up.setter import run


def f(a): ...


run(__name__)
# file: setter
import sys


def run(name):
    sys.modules[name].f = lambda x, y: 1
    sys.modules[name].g = 2


# program: passes globals to other module
from up.setter import run


def f(a): ...


run(globals())


# file: setter
def run(names):
    names["f"] = lambda x, y: 1
    names["g"] = 2


# program: importer changes another module
import up.lib
from up.lib import f

up.lib.f = lambda x, y: 1
up.lib.g = 3
del up.lib.h


# file: lib
def f(a): ...
def h(a): ...


# program: star with all changed by function
from up.lib import *


# file: lib
def f(): ...
def g(): ...


__all__ = ["f"]


def public(function):
    __all__.append(function.__name__)
    return function


public(g)


def h(): ...


# program: star with all deleted
from up.lib import *


# file: lib
def f(): ...
def _g(): ...


__all__ = ["_g"]
del __all__

# program: star with all removed
from up.lib import *


# file: lib
def f(): ...
def g(): ...


__all__ = ["f", "g"]
__all__.remove("f")

# program: star with all cleared
from up.lib import *


# file: lib
def f(): ...
def g(): ...


__all__ = ["f", "g"]
__all__[:] = ["g"]

# program: star with all item deleted
from up.lib import *


# file: lib
def f(): ...
def g(): ...


__all__ = ["f", "g"]
del __all__[0]

# program: star with all item set
from up.lib import *


# file: lib
def f(): ...
def g(): ...


__all__ = ["f"]
__all__[0] = "g"

# program: star with all computed
from up.lib import *


# file: lib
def f(): ...
def g(): ...
def _h(): ...


__all__ = [n for n in dir() if n != "f" and not n.startswith("__")]

# program: star with all sorted
from up.lib import *


# file: lib
def f(): ...
def g(): ...


__all__ = sorted(["f"])

# program: star with all by alias
from up.lib import *


# file: lib
def f(): ...
def g(): ...


__all__ = ["f"]
names = __all__
names.append("g")
names.remove("f")

# program: star with all in other module
from up.lib import *

# file: lib
import up.other


def f(): ...
def g(): ...


__all__ = ["f"] + up.other.__all__
# file: other
__all__ = ["g"]

# program: star with all plus imported
from up.lib import *

# file: lib
from up.other import *
from up.other import __all__ as names


def f(): ...
def k(): ...


__all__ = ["f"]
__all__ += names


# file: other
def g(): ...
def h(): ...


__all__ = ["g"]


# program: module getattr
def __getattr__(name):
    if name == "f":
        return lambda a: 1
    if name.startswith("g"):
        return 1
    raise AttributeError(name)


def h(): ...


# program: module getattr assigned
def _get(name):
    if name == "f":
        return 1
    raise AttributeError(name)


__getattr__ = _get

# program: module getattr imported
from up.lib import __getattr__


# file: lib
def __getattr__(name):
    if name == "f":
        return 1
    raise AttributeError(name)


# program: module getattr deleted
def __getattr__(name):
    if name == "f":
        return 1
    raise AttributeError(name)


del __getattr__

# program: module class
import sys, types


class Lazy(types.ModuleType):
    @property
    def f(self):
        return 1

    def __getattr__(self, name):
        if name == "g":
            return 2
        raise AttributeError(name)


def h(): ...


sys.modules[__name__].__class__ = Lazy

# program: replaced by object
import sys


def f(a): ...


class Other:
    g = 1


sys.modules[__name__] = Other()

# program: deleted in loop variable
for f in (1, 2):
    pass
del f


# program: deleted tuple
def f(): ...
def g(): ...
def h(): ...


del (f, [g])


# program: deleted then defined
def f(a): ...


del f


def f(x, y): ...


# program: deleted if
import sys


def f(a): ...


if sys.argv is None:
    del f

# program: annotated only
f: int
g: int = 1


# program: except name
def e(): ...


try:
    1 / 0
except ZeroDivisionError as e:
    pass

# program: walrus
if (f := lambda a: 1) and (g := 2):
    pass
values = [h := 3, (k := 4)]
[inner := x for x in (1, 2)]


def m(a=(n := 1)): ...
@(dec := staticmethod)
def o(): ...


assert (p := 1)


class C:
    x = (q := 5)


# program: walrus in while
f = 0
while (f := f + 1) < 3:
    g = 1
else:
    h = 2

# program: import as a star and delete
from up.lib import *

del f


# file: lib
def f(): ...
def g(): ...


# program: type alias and match
import sys

match sys.platform:
    case "linux" | "darwin" | "win32" as system:

        def f(a): ...
    case other:

        def f(x, y): ...


match [1, 2, 3]:
    case [first, *rest]:
        g = 1
    case _:
        h = 1
match {"a": 1, "b": 2}:
    case {"a": value, **others}:
        k = 1

# program: match never
match 1:
    case 2:

        def f(): ...
    case _:
        pass


# program: a copy of six runs texts
# sure: kept
import builtins
import sys

exec_ = getattr(builtins, "exec")


def kept(a): ...


if sys.version_info[:2] > (3,):
    exec_("def raise_from(value, from_value): ...")


# program: a class decorator sets names of the module
# sure: kept
from up.lib import Backend


def kept(a): ...


@Backend.export
class OwnBackend(Backend):
    show = 1


# file: lib
import sys


class Backend:
    @staticmethod
    def export(cls):
        for name in ["show", "Figure"]:
            setattr(sys.modules[cls.__module__], name, getattr(cls, name, None))
        return cls


# program: a function that types only see, which other code sets
from typing import TYPE_CHECKING

import up.lib

if TYPE_CHECKING:

    def made(a): ...


# file: lib
import sys

sys.modules["up.a"].made = lambda a: a


# program: modules that a copy of six makes
# sure: kept
from up.lib.moves import StringIO


def kept(a): ...


# file: lib
import io
import sys
import types

__path__ = []
moves = types.ModuleType(__name__ + ".moves")
moves.StringIO = io.StringIO
sys.modules[__name__ + ".moves"] = moves
