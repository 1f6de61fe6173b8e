"""What statements change in ways that no row can express, by its dotted names."""

from __future__ import annotations

import ast

import pytest

from patchkit.authoring.source.name_scopes import NameScope
from patchkit.authoring.piles.other_changes import changed_by_calls, stores

SCOPE = NameScope({"lib": ["up.lib"], "C": ["up.lib.C"], "LIST": ["up.lib.LIST"]})
CALLS = {
    "done = setattr(lib, 'f', f)": ["up.lib.f"],
    "done = setattr(lib, name, f)": ["up.lib.?"],
    "delattr(C, 'm')": ["up.lib.C.m"],
    "lib.__setattr__('f', f)": ["up.lib.f"],
    "lib.__delattr__('f')": ["up.lib.f"],
    "type.__setattr__(C, 'm', f)": ["up.lib.C.m"],
    "mock.patch('up.lib.f', f).start()": ["up.lib.f"],
    "patch.object(C, 'm').start()": ["up.lib.C.m"],
    "patch.dict('up.lib.TABLE', a=1).start()": ["up.lib.TABLE"],
    "wrapt.wrap_function_wrapper('up.lib', 'C.m', f)": ["up.lib.C.m"],
    "wrapt.wrap_function_wrapper(lib, 'C.m', f)": ["up.lib.C.m"],
    "LIST.append(1)": ["up.lib.LIST"],
    "server.start()": [],
    "setattr(lib, 'f', f)": [],
    "lib.f(1)": [],
}


@pytest.mark.parametrize("text", CALLS)
def test_calls(text: str) -> None:
    """A `setattr` that is a statement of its own is read as an assignment."""
    (statement,) = ast.parse(text).body
    changed = changed_by_calls(statement, SCOPE, is_run=True, is_read=True)
    names = [name for _, dotted_names in changed for name in dotted_names]
    assert names == CALLS[text]


def test_a_decorator_of_wrapt() -> None:
    """It is an expression of the definition."""
    text = "@wrapt.patch_function_wrapper('up.lib', 'f')\ndef f(*args): ..."
    (statement,) = ast.parse(text).body
    changed = changed_by_calls(statement, SCOPE, is_run=False, is_read=True)
    assert ["up.lib.f"] in [dotted_names for _, dotted_names in changed]


STORES = {
    "lib.f, x = 1, 2": ["up.lib.f"],
    "del C.m, lib.f": ["up.lib.C.m", "up.lib.f"],
    "LIST += [1]": ["up.lib.LIST"],
    "LIST += 1": [],
    "lib.TABLE[key] = 1": ["up.lib.TABLE"],
}


@pytest.mark.parametrize("text", STORES)
def test_stores(text: str) -> None:
    """Of an item whose key is not told, it is the container."""
    (statement,) = ast.parse(text).body
    changed = stores(statement, SCOPE)
    assert [name for _, names in changed for name in names] == STORES[text]
