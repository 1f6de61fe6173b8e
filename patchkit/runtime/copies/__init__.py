"""Finds the copies of a changed attribute, repoints those that it can, and names the others.

If a patch replaces `x.y`, every module that ran `from x import y` before still has the former
object: a copy. A pass searches the loaded modules for this very object. An attribute of a module or
class that was bound from `x.y` is set to the new value, if the row's `rebind` allows it; the code
that bound it tells (`origins`), since the same object may be there for another reason. Other
holders (a parameter's default, a closure, a container) are only reported.
"""
