"""A test to start from: green as far as it can tell, red where only the author can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.declaration import Add, AddField, Edit
from patchkit.scaffold.body import is_its_def
from patchkit.scaffold.text import call
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.declaration import Change, Patch
    from patchkit.scaffold.found import Found

_HEAD = '''"""What the patch {name} is for."""

from __future__ import annotations

{imports}
import pytest
from patchkit import applied
{mark}
NAME, PACK = "{name}", "{pack}"
'''
_TARGETS = '''

def targets() -> list[object]:
    """What stands at each target at the moment."""
    return [
{places}
    ]


def test_it_is_applied_and_taken_back() -> None:
    """Within the block every target is another one; afterwards each is the original again."""
    before = targets()
    with applied(NAME, packs=PACK):
        now = targets()
    assert [one for one, old in zip(now, before, strict=True) if one == old] == []
    assert targets() == before
'''
_MODULES = '''

def test_it_is_applied() -> None:
    """It applies without an error, and is taken back."""
    with applied(NAME, packs=PACK):
{imported}
'''
_PURPOSE = '''

def test_what_it_is_for() -> None:
    """FILL IN: what goes wrong without the patch does not with it."""
    with applied(NAME, packs=PACK):
        pytest.fail("fill in: what goes wrong without the patch, and that it does not")
'''
_MARK = """
pytestmark = pytest.mark.vllm  # skipped where vLLM is not installed
"""


def test_text(patch: Patch, pack: str, changes: Sequence[tuple[Found, Change]]) -> str:
    """
    Write the test of a patch.

    The first test is green once the patch changes anything; the second is red until the author has
    said what the patch is for.

    Args:
        patch: the row.
        pack: module of its pack.
        changes: what it changes.

    """
    places = [_place(found, change) for found, change in changes if change.inside_module]
    modules = [found.target.module for found, _ in changes if not found.target.qualname]
    code = _TARGETS.format(places="\n".join(f"        {one}," for one in places)) if places else ""
    if modules:
        lines = (f'        import_module("{one}")' for one in modules)
        code += _MODULES.format(imported="\n".join(lines))
    words = [one for one in ("getattr_static", "signature") if f"{one}(" in code]
    inspected = f"from inspect import {', '.join(words)}\n" if words else ""
    mark = _MARK if any(found.package == "vllm" for found, _ in changes) else ""
    imports = f"from importlib import import_module\n{inspected}"
    head = _HEAD.format(name=patch.name, pack=pack, imports=imports, mark=mark)
    return head + code + _PURPOSE


def _place(found: Found, change: Change) -> str:
    """Write what stands at a target: as it is stored, so that a method is not bound anew."""
    module, qualname = f'import_module("{change.place.module}")', change.place.qualname
    if '"' not in qualname:
        qualname = qualname.replace("'", '"')
    if isinstance(change, AddField):
        parameters = f"signature({module}.{qualname}).parameters"
        return f'"{change.name}" in {parameters}'
    if isinstance(change, Add) and qualname.endswith("]"):
        step = len(str(change.place.steps[-1]))
        return f"{qualname[-step + 1 : -1]} in {module}.{qualname[:-step]}"
    if isinstance(change, Edit):
        getter = ".fget" if found.facts.kind == str(Kind.PROPERTY) else ""
        return f"{module}.{qualname}{getter}.__code__"
    outer, _, last = qualname.rpartition(".")
    holder = f"{module}.{outer}" if outer else module
    is_stored = is_its_def(found) or found.facts.kind == str(Kind.CLASS)
    if qualname.endswith("]") or not (is_stored or isinstance(change, Add)):
        return f"{module}.{qualname}"
    look = "hasattr" if isinstance(change, Add) else "getattr_static"
    return call(look, [holder, f'"{last}"'], "),", depth=2)[:-1]
