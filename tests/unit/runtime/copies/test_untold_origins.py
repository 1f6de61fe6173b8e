"""Where the code does not tell what a place was bound from; packs that copy."""

from __future__ import annotations

from textwrap import dedent

import pytest
from support import packages
from support.packages import World, row
from support.undoing import apply, undo

from .bound import MAIN, WRAPS, load, out_of_reach

world = packages.world
STUB = "def n(): return 'stub'\n"


# -- what cannot be told ---------------------------------------------------------------------------

HOLDERS = """
import sys, up.mod
from up.mod import NAMES
setattr(sys.modules[__name__], 'kept', up.mod.NAMES)
table = {'names': NAMES}
"""


@pytest.mark.processes
def test_what_no_code_names_is_left_and_reported(world: World) -> None:
    """A shared constant in a container, or bound by `setattr`, is left and reported."""
    world.module("up.types", "names = object()")
    world.module("up.mod", "import up.types\nNAMES = up.types.names\nROW = [NAMES]")
    world.module("up.user", HOLDERS)
    world.module("up.other", "from up.types import names\ntable = {'names': names}")
    world.pack(
        row("one", "patch_a", "Replace('up.mod:NAMES', by='NEW')"),
        patch_a="NEW = object()",
    )
    code = "import up.user, up.other, patchkit.auto\nassert up.user.kept is not up.mod.NAMES"
    assert sorted(out_of_reach(world, code)) == [
        "up.mod:ROW[0] (origin unknown)",
        "up.user:kept (origin unknown)",
        "up.user:table['names'] (origin unknown)",
    ]


# What binds the name once more; without code here, another module does.
AGAIN = {
    "an update": "globals().update(kept=up.a.kept)",
    "a loop": "for C.kept in [up.a.kept]: pass",
    "a name that is a text": "setattr(C, 'kept', up.a.kept)",
    "a function": "def bind():\n    C.kept = up.a.kept\nbind()",
    "a class method": "class D(C):\n    @classmethod\n    def bind(cls): cls.kept = up.a.kept",
    "another module": "",
}


@pytest.mark.processes
@pytest.mark.parametrize("means", AGAIN)
def test_what_may_have_been_bound_again(world: World, means: str) -> None:
    """A place that the code binds from elsewhere is left and reported, and not taken as known."""
    world.module("up.base", "kept = object()")
    for name in "ab":
        world.module(f"up.{name}", "from up.base import kept")
    rebinding = AGAIN[means]
    first_value = "up.b.kept" if rebinding else "None"
    head = (
        f"import up.a, up.b\nkept = {first_value}\nclass C:\n    kept = {first_value}\n"
    )
    world.module("up.binder", "import up.a, up.user\nup.user.kept = up.a.kept")
    world.module("up.user", head + rebinding)
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    name = "kept" if means in ("an update", "another module") else "C.kept"
    importer = "up.user" if rebinding else "up.binder"
    code = f"import {importer}, patchkit.auto\nassert up.user.{name} != [1]"
    assert f"up.user:{name} (origin unknown)" in out_of_reach(world, code)


@pytest.mark.processes
@pytest.mark.parametrize("more", ["", "def f(): ...\n"])
def test_a_file_that_was_changed_since(world: World, more: str) -> None:
    """A copy in a module whose file was changed after its import is left and reported."""
    world.module("up.base", "kept = object()")
    for name in "ab":
        world.module(f"up.{name}", "from up.base import kept")
    file = world.module("up.user", f"from up.b import kept\n{more}")
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    newer = f"# newer\nfrom up.a import kept\n{more}"
    code = f"""
        import pathlib, sys
        sys.dont_write_bytecode = {bool(more)}
        import up.a, up.user
        pathlib.Path({str(file)!r}).write_text({newer!r})
        import patchkit.auto
        assert up.user.kept is not up.a.kept
    """
    reported = out_of_reach(world, dedent(code))
    assert reported == ["up.user:kept (origin unknown)"]


@pytest.mark.processes
def test_what_an_instance_sets(world: World) -> None:
    """An assignment to `self.kept` does not make the origin of the class's `kept` unknown."""
    world.module("up.base", "kept = object()")
    for name in "ab":
        world.module(f"up.{name}", "from up.base import kept")
    user = (
        "import up.b\nclass C:\n    kept = up.b.kept\n    def run(self): self.kept = 1"
    )
    world.module("up.user", user)
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    assert out_of_reach(world, "import up.user, up.a, patchkit.auto") == []


def test_a_copy_of_what_was_added(world: World) -> None:
    """A copy of an added function stays after the undo, and follows when it is added again."""
    world.module("up.mod", "def f(): ...")
    world.module("up.user", "from up.mod import added")
    world.pack(
        row("one", "patch_a", "Add('up.mod:added', by='n')"),
        row("two", "patch_b", "Wrap('up.mod:added', by='around')"),
        patch_a=STUB,
        patch_b=WRAPS,
    )
    session = world.session()
    session.arm(MAIN)
    mod, user = load("up.mod", "up.user")
    assert user.added() == ("wrapped", "stub")
    undo(session, ["two"])
    assert user.added() == "stub"
    undo(session)
    assert not hasattr(mod, "added")
    assert user.added() == "stub"
    apply(session, ["one", "two"])
    assert user.added() == ("wrapped", "stub")


# -- a pack that is an application's own package ---------------------------------------------------


def test_an_application_that_is_a_pack_itself(world: World) -> None:
    """The application's modules follow where `rebind` names it; its bodies keep the originals."""
    world.module("up.mod", "def f(): return 'f'")
    world.module("app.service", "from up.mod import f")
    world.pack(
        row("one", "patch_a", "Wrap('up.mod:f', by='around', rebind=('app',))"),
        name="app",
        patch_a=f"from up.mod import f\n{WRAPS}",
    )
    service, body = load("app.service", "app.patch_a")
    session = world.session("app")
    session.arm(MAIN)
    assert service.f() == ("wrapped", "f")
    assert body.f() == "f"
    undo(session)
    assert service.f() == "f"


@pytest.mark.processes
def test_an_application_that_is_a_pack_and_not_named(world: World) -> None:
    """Copies in an application that `rebind` does not name are left and reported."""
    world.module("up.mod", "def f(): return 'f'")
    world.module("app.service", "from up.mod import f")
    world.pack(
        row("one", "patch_a", "Wrap('up.mod:f', by='around')"),
        name="app",
        patch_a=WRAPS,
    )
    code = "import app.service, patchkit.auto\nassert app.service.f() == 'f'"
    left = out_of_reach(world, code, PATCHKIT_PATCHES="app")
    assert left == ["app.service:f (out of scope)"]


# -- what a decorator put elsewhere ----------------------------------------------------------------

REGISTRY = """
TABLE = {}
class Base:
    kinds = {}
def register(name):
    def deco(value):
        TABLE[name] = value
        Base.kinds[name] = value
        globals()[name] = value
        return value
    return deco
"""


@pytest.mark.processes
def test_what_the_targets_own_decorator_put_into_an_earlier_module(
    world: World,
) -> None:
    """A global that the decorator has set is repointed; an item of a table is reported."""
    world.module("up.registry", REGISTRY)
    world.module(
        "up.mod", "from up.registry import register\n@register('act')\nclass Act: ..."
    )
    world.pack(
        row("one", "patch_a", "Replace('up.mod:Act', by='Act')"),
        patch_a="from up import mod\nclass Act(mod.Act): ...",
    )
    code = """
        import up.registry, patchkit.auto, up.mod
        assert up.registry.act is up.mod.Act is not up.registry.TABLE["act"]
    """
    left = ["up.registry:Base.kinds['act']", "up.registry:TABLE['act']"]
    assert sorted(out_of_reach(world, dedent(code))) == left
