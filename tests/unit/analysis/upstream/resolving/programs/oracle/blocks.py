"""Definitions in blocks: errors that are swallowed, conditions, loops."""


# program: own exit swallows
class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


with Swallow():
    1 / 0

    def f(): ...


def g(): ...


# program: own exit swallows call
class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def h(a): ...


with Swallow() as s:
    import no_such_module

    def h(x, y): ...

    k = 1

# program: contextmanager swallows
from contextlib import contextmanager


@contextmanager
def swallow():
    try:
        yield
    except Exception:
        pass


with swallow():
    import no_such_module

    def f(): ...


# program: contextmanager lets through
# sure: f
from contextlib import contextmanager


@contextmanager
def through():
    yield


with through():
    import json

    def f(): ...


# program: exit lets through
# sure: f
class Through:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


with Through():
    import json

    def f(): ...


# program: exit imported
from up.lib import Swallow

with Swallow():
    import no_such_module

    def f(): ...


# file: lib
class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


# program: exit stack
from contextlib import ExitStack, suppress

with ExitStack() as stack:
    stack.enter_context(suppress(ImportError))
    import no_such_module

    def f(): ...


# program: suppress renamed
from contextlib import suppress as ignore

with ignore(ImportError):
    import no_such_module

    def f(): ...


# program: suppress by variable
import contextlib

quiet = contextlib.suppress(ImportError)
with quiet:
    import no_such_module

    def f(): ...


# program: swallow in a class body
class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


class C:
    with Swallow():
        1 / 0

        def f(self): ...

    def g(self): ...


# program: swallow division by names
class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


zero = 0
with Swallow():
    1 / zero

    def f(): ...


# program: try division
zero = 0
try:
    x = 1 / zero

    def f(a): ...
except ZeroDivisionError:

    def f(x, y): ...


# program: try assertion
zero = 0
try:
    assert zero

    def f(a): ...
except AssertionError:

    def f(x, y): ...


# program: try name error
try:
    not_there

    def f(a): ...
except NameError:

    def f(x, y): ...


# program: try name error in base
try:

    class C(NotThere):
        def m(self): ...

    def f(a): ...
except NameError:

    def f(x, y): ...


# program: try delete
try:
    del not_there

    def f(a): ...
except NameError:

    def f(x, y): ...


# program: try unpack
pair = (1,)
try:
    a, b = pair

    def f(a): ...
except ValueError:

    def f(x, y): ...


# program: try for
values = 1
try:
    for v in values:
        pass

    def f(a): ...
except TypeError:

    def f(x, y): ...


# program: try class body fails
try:

    class C:
        x = 1 / 0

        def m(self): ...

    def f(a): ...
except ZeroDivisionError:

    def f(x, y): ...


# program: try default fails
try:

    def g(a=1 / 0): ...
    def f(a): ...
except ZeroDivisionError:

    def f(x, y): ...


# program: try default name
try:

    def g(a=not_there): ...
    def f(a): ...
except NameError:

    def f(x, y): ...


# program: try annotation fails
try:

    def g(a: not_there): ...
    def f(a): ...
except NameError:

    def f(x, y): ...


# program: try else finally
try:
    import no_such_module
except ImportError:

    def f(a): ...
else:

    def f(x, y): ...
finally:

    def g(): ...


try:
    import json
except ImportError:

    def h(a): ...
else:

    def h(x, y): ...


# program: try finally deletes
try:

    def f(): ...
finally:
    del f

# program: nested try
try:
    try:
        import no_such_module

        f = 1
    except ValueError:
        g = 1
    h = 1
except ImportError:
    k = 1

# program: raise in handler
try:
    try:
        import no_such_module
    except ImportError as error:
        raise ValueError from error
    f = 1
except ValueError:
    g = 1

# program: bare except with pass
try:
    import no_such_module

    f = 1
except:
    pass
g = 2

# program: loop over nothing
for f in []:

    def g(): ...
else:

    def h(): ...


# program: loop over nothing named
NAMES = ()
for f in NAMES:

    def g(): ...


# program: loop break
for x in (1, 2):
    if x == 1:
        break

    def f(): ...
else:

    def g(): ...


# program: loop continue
for x in (1, 2):
    continue

    def f(): ...


# program: while break
while True:
    break

    def f(): ...
else:

    def g(): ...


# program: while defines
while True:

    def f(): ...

    break

# program: version info
import sys

if sys.version_info >= (3, 8):

    def f(a): ...
else:

    def f(x, y): ...


if sys.version_info[:2] < (3, 8):

    def g(): ...


if sys.version_info[0] == 2:

    def h(): ...


if sys.version_info.major > 2:

    def k(): ...


# program: version info aliased
from sys import version_info as v

if v >= (3, 8):

    def f(a): ...
else:

    def f(x, y): ...


# program: version info shadowed
class sys:
    version_info = (2, 7)


if sys.version_info >= (3, 8):

    def f(a): ...
else:

    def f(x, y): ...


# program: version flag
import sys

PY3 = sys.version_info[0] >= 3
if PY3:

    def f(a): ...
else:

    def f(x, y): ...
    def g(): ...


# program: platform
import sys, os, platform

if sys.platform == "win32":

    def f(a): ...
else:

    def f(x, y): ...


if os.name == "nt":

    def g(): ...


if platform.system() == "Windows":

    def h(): ...


if sys.platform.startswith("win"):

    def k(): ...


# program: type checking
from typing import TYPE_CHECKING
import typing as t
import typing

if TYPE_CHECKING:

    def f(): ...


if t.TYPE_CHECKING:

    def g(): ...


if not TYPE_CHECKING:

    def h(a): ...


if typing.TYPE_CHECKING or False:

    def k(): ...


# program: type checking renamed
from typing import TYPE_CHECKING as TC
import typing as _typing

if TC:

    def f(): ...


if _typing.TYPE_CHECKING:

    def g(): ...


MYPY = False
if MYPY:

    def h(): ...


# program: type checking of its own
TYPE_CHECKING = True
if TYPE_CHECKING:

    def f(): ...
else:

    def g(): ...


# program: type checking is true in other
from up.lib import TYPE_CHECKING

if TYPE_CHECKING:

    def f(): ...
else:

    def g(): ...


# file: lib
TYPE_CHECKING = True

# program: debug and constants
if __debug__:

    def f(): ...


if 0:

    def g(): ...


if "":

    def h(): ...


if None:

    def k(): ...


if ():

    def m(): ...


if not (1 and 0):

    def n(): ...


# program: name main
if __name__ == "__main__":

    def f(): ...
else:

    def g(): ...


# program: dunder name
if __name__ == "up.a":

    def f(): ...
else:

    def g(): ...


# program: raise at module level in try
try:
    raise ImportError

    def f(): ...
except ImportError:

    def g(): ...


# program: assert false in try
try:
    assert False

    def f(): ...
except AssertionError:

    def g(): ...


# program: try in loop with continue
for name in ("no_such_module", "json"):
    try:
        module = __import__(name)
    except ImportError:
        continue
    found = name
    break
else:
    found_none = True

# program: conditional by other constant
FLAG = False
if FLAG:

    def f(): ...
else:

    def g(): ...


# program: import of something missing in other module
try:
    from up.lib import f, g
except ImportError:

    def g(a): ...


# file: lib
def f(x, y): ...


# program: import of something missing in other module order
try:
    from up.lib import g, f
except ImportError:

    def g(a): ...


# file: lib
def f(x, y): ...
