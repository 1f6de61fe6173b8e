"""A test to start from: green as far as it can tell, red where only the author can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.rows.declaration import Patch
    from patchkit.scaffold.upstream_target import UpstreamTarget

_TEST = '''"""What the patch {name} is for."""

from __future__ import annotations
{imported}
import pytest
from patchkit import applied
{mark}
NAME, PACK = "{name}", "{pack}"


def test_it_applies() -> None:
    """Its targets are there, and take what the body has for them."""
    with applied(NAME, packs=PACK):
{inside}


def test_what_it_is_for() -> None:
    """FILL IN: what goes wrong without the patch does not with it."""
    with applied(NAME, packs=PACK):
        pytest.fail("fill in: what goes wrong without the patch, and that it does not")
'''
_MARK = """
pytestmark = pytest.mark.vllm  # skipped where vLLM is not installed
"""


def test_text(patch: Patch, pack: str, targets: Sequence[UpstreamTarget]) -> str:
    """Write the test of a patch, which is red until its author has written what it is for."""
    places = [upstream.target for upstream in targets]
    modules = [place.module for place in places if not place.qualname]
    lines = [f'import_module("{module}")' for module in modules] or ["pass"]
    return _TEST.format(
        name=patch.name,
        pack=pack,
        imported="\nfrom importlib import import_module\n" if modules else "",
        inside="\n".join(f"        {line}" for line in lines),
        mark=_MARK if any(place.module.partition(".")[0] == "vllm" for place in places) else "",
    )
