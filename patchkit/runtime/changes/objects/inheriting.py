"""Has the wrapper of an inherited method call what `super()` finds at each call.

That is what an overriding method in the class would do. With multiple inheritance, the next method
depends on the class of the object; and a base may be patched later.
"""

import functools
from typing import Any

from patchkit.runtime.changes.site import Site


def from_above(by: Any, site: Site) -> Any:
    """Return a body's wrapper whose `wrapped` is `super().name`, found anew at each call.

    In a call with an object of another class, as in `Class.method(other)`, `wrapped` is the
    method that was wrapped.

    Args:
        by: The body's function.
        site: The attribute, which its class inherits.
    """
    owner = site.owner
    name: Any = site.name
    is_static = isinstance(site.original, staticmethod)
    is_of_class = is_static or isinstance(site.original, classmethod)

    @functools.wraps(by)
    def by_above(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        start = instance  # the object, or for a class method the class, that `super()` is for
        if is_static:
            # No static method but `__new__` gets the class of the call.
            start = args[0] if args and name == "__new__" else owner
        kind = start if is_of_class else type(start)
        if owner in getattr(kind, "__mro__", ()):
            wrapped = getattr(super(owner, start), name)
        return by(wrapped, instance, args, kwargs)

    return by_above
