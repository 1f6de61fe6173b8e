"""Releases whose sources are nested deep, lead through many modules, or do not parse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import (
    Memory,
    checked,
    files_of,
    only_finding,
    subject,
)
from patchkit.analysis.check.releases import CheckedRelease

if TYPE_CHECKING:
    from support.packages import World

PLAIN = "def f(a): return a\nclass C:\n    def m(self, a): return a\n"
EXPORTS = {
    f"m{number}": f"from up.m{number + 1} import f, C\n" for number in range(200)
}
BASES = "class C0:\n    def m(self, a): return a\n" + "".join(
    f"class C{number}(C{number - 1}): pass\n" for number in range(1, 1200)
)
STARS = {
    f"{side}{number}": f"from up.a{number + 1} import *\nfrom up.b{number + 1} import *\n"
    for side in "ab"
    for number in range(40)
}
"""Each module is reached in twice as many ways as the one before it."""
BRANCHES = "import away\nif away.x == 0:\n    def f(a): return a\n" + "".join(
    f"elif away.x == {number}:\n    def f(a): return a\n" for number in range(1, 700)
)
ALIASES = "".join(
    f"a{number} = a{number - 1} if away.x else a{number - 2}\n"
    for number in range(2, 60)
)
"""Each name is reached in as many ways as the two before it together."""
HOSTILE = {
    "diamonds of aliases": {
        "mod": f"import away\n{PLAIN}a0 = a1 = f\n{ALIASES}f = a59\n"
    },
    "chained re-exports": {
        **EXPORTS,
        "m200": PLAIN,
        "mod": "from up.m0 import f, C\n",
    },
    "stars in diamonds": {
        **STARS,
        "a40": PLAIN,
        "b40": PLAIN,
        "mod": "from up.a0 import *\n",
    },
    "chained bases": {"mod": f"{PLAIN}{BASES}class C(C1199): pass\n"},
    "branches": {"mod": f"{PLAIN}{BRANCHES}"},
    "a long sum": {"mod": f"{PLAIN}x = {' + '.join('1' * 4000)}\nf = x\n"},
    "a deep attribute": {"mod": f"{PLAIN}import away\nf = away{'.a' * 3000}\n"},
    "deep calls": {"mod": f"{PLAIN}f = {'g(' * 90}1{')' * 90}\n"},
    "decorators": {"mod": "@d\n" * 3000 + PLAIN},
    "nested ifs": {
        "mod": PLAIN
        + "".join(f"{' ' * depth}if away.x:\n" for depth in range(95))
        + f"{' ' * 95}f = 1\n"
    },
    "a circle of imports": {
        "mod": "from up.other import f, C\n",
        "other": "from up.mod import f, C\n",
    },
    "a circle of bases": {"mod": f"{PLAIN}class C(D): pass\nclass D(C): pass\n"},
    "no Python": {"mod": "def f(:\n"},
    "null bytes": {"mod": "def f(a): ...\n\0\n"},
    "too many parentheses": {"mod": f"{PLAIN}x = {'(' * 500}1{')' * 500}\n"},
}


@pytest.mark.parametrize("sort", HOSTILE)
def test_a_source_that_cannot_be_followed_ends_no_check(
    world: World, sort: str
) -> None:
    """The releases beside it are judged: what the last one lacks is told."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:f', by='g')"),
        row("q", "patch_b", "Wrap('up.mod:C.m', by='w')"),
        row("r", "patch_c", "Replace('up.other_one:h', by='g')"),
        patch_a="def g(a): return a + 1\n",
        patch_b="def w(wrapped, instance, args, kwargs): return wrapped(*args)\n",
        patch_c="def g(a): return a + 2\n",
    )
    other = "def h(a): return a\n"
    report = checked(
        [
            subject("1.0", mod=PLAIN, other_one=other),
            subject("2.0", other_one=other, **HOSTILE[sort]),
            subject("3.0", mod="", other_one=other),
        ]
    )
    missing = [one for one in report.findings if one.code.code == "PK101"]
    lacking = {(one.patch, one.release) for one in missing}
    assert {("p", "up 3.0"), ("q", "up 3.0")} <= lacking
    assert all(release != "up 1.0" for _, release in lacking)
    assert report.grid["p"]["up 1.0"] == "ok"
    assert set(report.grid["r"].values()) == {"ok"}


def test_a_package_that_does_not_parse_has_no_modules_that_import(world: World) -> None:
    """Its submodules are undecided, with the file that Python cannot read."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:f', by='g')"),
        patch_a="def g(a): return a + 1\n",
    )
    files = {**files_of({"mod": PLAIN}), "up/__init__.py": "def (:\n"}
    source = Memory("up 1.0", "1.0", files)
    release = CheckedRelease("up 1.0", "up", "1.0", lambda: source, is_local=False)
    finding = only_finding(checked([release]), "PK104")
    assert "up/__init__.py" in finding.message
