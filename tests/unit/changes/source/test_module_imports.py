from __future__ import annotations

import symtable

import pytest

from changes.source.edits import loaded
from patchkit.changes.source.module_imports import imported_names
from patchkit.changes.source.recompile import arrange_alone
from patchkit.changes.source.source_text import Source

TEXT = '''\
"""import nothing"""
import os, sys as system
import xml.dom.minidom  # import comment
import xml.sax as sax
from json import (
    dumps,  # one
    loads as read,
)
from a.b import c
if os:
    import time
    from x import y
else:
    pass
try:
    from u import v
except ImportError:
    v = None

from w import *
important = 1
def f():
    import inner
    if os:
        import deep
class A:
    import attribute
'''


def test_the_names_are_those_of_the_symbol_table() -> None:
    """Nothing of functions and classes, nothing of comments and texts."""
    table = symtable.symtable(TEXT, "text", "exec")
    assert imported_names(TEXT) == sorted(
        symbol.get_name() for symbol in table.get_symbols() if symbol.is_imported()
    )


@pytest.mark.parametrize("text", ["", "import ", "import (", "from x import (a", "x = 'import '"])
def test_a_fragment_is_no_error(text: str) -> None:
    """What is odd is left out, or guessed."""
    assert imported_names(text) in ([], ["a"])


def test_a_call_on_an_imported_name_is_compiled_alone() -> None:
    """Without its module's imports beside it, the code would be another one."""
    module = loaded("import time\ndef f():\n    return time.time(), other.time()\n")
    assert Source(module.f)._arrange is arrange_alone
