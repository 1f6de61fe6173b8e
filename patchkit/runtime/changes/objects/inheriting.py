"""Gives a wrapper of what a class inherits what `super()` finds there at each call.

So does a member that is written in the body of the class: a class that derives from it and from
another one has that one's member next, and a base that changes later is followed.
"""

import functools
from typing import Any

from patchkit.runtime.changes.site import Site


def from_above(by: Any, site: Site) -> Any:
    """Return a body's wrapper that is given what follows the class of a site at the call.

    What is called by hand, with what is no object of the class, gets what the wrapper is around.

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
        start = instance
        if is_static:
            # Only `__new__` is told the class of the call.
            start = args[0] if args and name == "__new__" else owner
        kind = start if is_of_class else type(start)
        if owner in getattr(kind, "__mro__", ()):
            wrapped = getattr(super(owner, start), name)
        return by(wrapped, instance, args, kwargs)

    return by_above
