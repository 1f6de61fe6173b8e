"""Names in the text of a change that nothing defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject
from patchkit import AddField, Edit, Wrap
from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.check.text_names import globals_read, names_to_find
from patchkit.core.lock.format import Lock
from patchkit.settings import Settings

if TYPE_CHECKING:
    from support.packages import World

MODULE = """
import time
from dataclasses import dataclass
try:
    import fast
except ImportError:
    fast = None
LIMIT = 7  # it is on

def f(x):
    return x + LIMIT

@dataclass
class C:
    field: int = 0
    def m(self, x):
        return self.field + x
"""
UP = subject("1.0", mod=MODULE)
STAR = subject("1.0", mod=f"from somewhere import *\n{MODULE}")
BODY = (
    "from typing import Optional\nclass Own: ...\ndef call(module): ...\nhelper = 1\n"
)


def edit(new: str, target: str = "f", old: str = "return x + LIMIT") -> str:
    """The source of an Edit of `f`, or of another target."""
    return f"Edit('up.mod:{target}', old={old!r}, new={new!r})"


def field(annotation: str) -> str:
    """The source of an AddField with an annotation."""
    return f"AddField('up.mod:C', 'added', {annotation!r}, None)"


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ([edit("return x + LIMITS")], "LIMITS"),
        ([edit("return x + tiem.time()")], "tiem"),
        ([edit("y = 'LIMITS'  # LIMITS\nreturn x + y + time.time()")], ""),
        ([edit("from up import other\nreturn other(x) or fast")], ""),
        ([edit("return [y for y in x if y.LIMITS(z=len(x))]")], ""),
        ([edit("return [y for y in x if z]")], "z"),
        ([edit("return (lambda: LIMITS)()")], "LIMITS"),
        ([edit("return self.feild", "C.m", "return self.field + x")], ""),
        ([edit("return filed", "C.m", "return self.field + x")], "filed"),
        ([edit("return field", "C.m", "return self.field + x")], "field"),
        ([edit("global made\nmade = x\nreturn made")], ""),
        ([edit("def f(x=LIMITS)", old="def f(x)")], "LIMITS"),
        ([edit("def f(x, *, y=(LIMIT, LIMITS))", old="def f(x)")], "LIMITS"),
        ([edit("def f(x=LIMIT, y=lambda z: z)", old="def f(x)")], ""),
        ([edit("def m(self, x=field)", "C.m", "def m(self, x)")], ""),
        # Another change defines it.
        ([edit("return helper"), "Add('up.mod:helper', by='helper')"], ""),
        ([edit("return helper"), "AfterImport('up.mod', call='call')"], ""),
        (
            [
                edit("y = 2\nreturn x + LIMIT"),
                edit("return x + LIMIT + y", old="return x + LIMIT"),
            ],
            "",
        ),
        ([edit("return x + 1"), edit("return LIMITS", old="return x + 1")], "LIMITS"),
        ([edit("return x + 1"), edit("return LIMIT", old="return x + 1")], ""),
        ([field("int | None")], ""),
        ([field("intt")], "intt"),
        ([field("'Optional[Own]'")], ""),
        ([field("Optional['Onw']")], "Onw"),
        ([field("Literal['Onw']")], "Literal"),
        ([field("C")], ""),
    ],
)
def test_a_name_is_defined_somewhere(
    world: World, changes: list[str], unknown: str
) -> None:
    """In the module, the function, the body of an AddField, or by another change; or it is told."""
    world.pack(row("p", "patch_a", *changes, requires="('up>=1,<2',)"), patch_a=BODY)
    report = checked([UP])
    assert codes(report) == ["PK115"] * bool(unknown)
    if unknown:
        message = only_finding(report, "PK115").message
        assert f"reads {unknown}, which nothing in up.mod defines" in message
        assert report.grid["p"] == {"up 1.0": "broken"}


def edits(*texts: str) -> list[str]:
    """The sources of an Edit of `f`, and of one of `C.m`."""
    targets = [("f", "return x + LIMIT"), ("C.m", "return self.field + x")]
    return [
        edit(text, target, old)
        for text, (target, old) in zip(texts, targets, strict=False)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        # Python does not evaluate what annotates a local variable.
        edits("y: Tensor = x\nreturn y"),
        edits("def inner(y: Tensor) -> Tensor: return y\nreturn inner(x)"),
        edits("async def inner(*y: Tensor) -> Tensor: return y\nreturn inner(x)"),
        # It is set as a global name: here, in a function around, in another Edit, from outside.
        edits("global json\nimport json\nreturn json.dumps(x)"),
        edits("global memo\nmemo = x\nreturn [memo for _ in range(2)]"),
        edits("global memo\nmemo = x", "return memo"),
        edits("import up.mod as module\nmodule.memo = x", "return memo"),
        # The code asks whether it is there, or makes it in a way that is not read.
        edits("try:\n    return unicode\nexcept NameError:\n    return str"),
        edits("return memo if 'memo' in globals() else 0"),
        edits("exec('memo = 1', globals())\nreturn memo"),
        edits("return __builtins__, __cached__, __path__, __annotations__"),
        edits("return x", "return __private"),
        [*edits("return memo"), "AfterImport('up', call='call')"],
        [*edits("return memo"), "Add('up.alias:memo', by='helper')"],
        [*edits("return late"), "Provide('up.mod.late', by='Own')"],
        [field("Annotated[int, 'metres']")],
        [field("Annotated[int, dict(unit='metres')]")],
        [field("Annotated[int, lambda value: value + 1]")],
        [field("Floats['metres']")],
        [field("Optional['Checked']")],
        [field("Inner")],
    ],
)
def test_what_works_is_not_told(world: World, changes: list[str]) -> None:
    """Each of these rows does its work."""
    module = (
        "from typing import Annotated, TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from os import PathLike as Checked\n"
        f"Floats = Annotated\n_C__private = 1\n{MODULE}\n    class Inner: ...\n"
    )
    alias = "import sys\nimport up.mod\nsys.modules[__name__] = up.mod\n"
    release = subject("1.0", mod=module, alias=alias)
    world.pack(row("p", "patch_a", *changes, requires="('up>=1,<2',)"), patch_a=BODY)
    assert "PK115" not in codes(checked([release]))


@pytest.mark.parametrize(
    ("text", "is_set"),
    [
        ("import up.mod\nup.mod.memo = 1", True),
        ("import up.mod\nsetattr(up.mod, 'memo', 1)", True),
        ("import up.mod\nvars(up.mod).update(memo=1)", True),
        ("memo = 1", False),
        ("def f(self):\n    self.memo = 1", False),
        ("import up.mod\nup.mod.memo == 1", False),
    ],
)
def test_the_code_of_a_pack_may_set_a_name(
    world: World, text: str, is_set: bool
) -> None:
    """In the body of any row, or a module beside it; a name of the body alone is not seen."""
    change = edit("return memo")
    rows = [
        row("p", None, change, requires="('up>=1,<2',)"),
        row("q", "patch_b", "Wrap('up.mod:C.m', by='w')", requires="('up>=1,<2',)"),
    ]
    body = "from pack import helper\ndef w(wrapped, instance, args, kwargs): return helper\n"
    world.pack(*rows, patch_b=body, helper=text)
    found = [code for code in codes(checked([UP])) if code == "PK115"]
    assert found == ["PK115"] * (not is_set)


def test_the_package_of_a_pack_may_set_a_name(world: World) -> None:
    """A body may call code outside of the pack."""
    world.module("plugin.setup", "import up.mod\ndef go():\n    up.mod.memo = 1\n")
    changes = [edit("return memo or mem2"), "Wrap('up.mod:C.m', by='w')"]
    body = "from plugin import setup\nsetup.go()\ndef w(wrapped, instance, args, kwargs): ...\n"
    one = row("p", "patch_a", *changes, requires="('up>=1,<2',)", roles="{Role.MAIN}")
    world.module("plugin.pack.patch_a", body)
    world.pack(one, name="plugin/pack")
    rows, _ = read_packs(Settings(), ["plugin.pack"])
    report = Check(list(rows), [UP], Lock(), {}).run()
    message = only_finding(report, "PK115").message
    assert message == "new reads mem2, which nothing in up.mod defines"


@pytest.mark.parametrize(
    ("code", "is_set"),
    [
        ("import sys\nsys.modules[__name__].memo = 1", True),
        ("class Z:\n    global memo\n    memo = 1", True),
        ("class Z:\n    def m(self):\n        self.memo = 1", False),
        ("import up\nup.a, up.mod.memo = 1, 2", True),
        ("def other(x=(memo := 1)): ...", True),
        ("def other(x):\n    print(x.memo, end=1)", False),
    ],
)
def test_the_module_may_set_a_name_in_its_own_way(
    world: World, code: str, is_set: bool
) -> None:
    """An attribute of `self` is no such name."""
    change = edit("return memo")
    world.pack(row("p", "patch_a", change, requires="('up>=1,<2',)"), patch_a=BODY)
    release = subject("1.0", mod=f"{code}\n{MODULE}")
    assert codes(checked([release])) == ["PK115"] * (not is_set)


@pytest.mark.parametrize(("annotation", "is_told"), [("intt", True), ("int", False)])
def test_a_decorator_of_a_class_defines_no_type(
    world: World, annotation: str, is_told: bool
) -> None:
    """The classes of vLLM's configuration have one, that makes them dataclasses of pydantic."""
    config = (
        "from pydantic.dataclasses import dataclass\n"
        "from typing_extensions import dataclass_transform\n"
        "@dataclass_transform()\n"
        "def config(cls=None, *, config=None, **kwargs):\n"
        "    def decorator(cls):\n"
        "        return dataclass(cls, config=config, **kwargs)\n"
        "    if cls is None:\n        return decorator\n    return decorator(cls)\n"
    )
    module = "from up.utils import config\n@config\nclass C:\n    field: int = 0\n"
    world.pack(
        row("p", "patch_a", field(annotation), requires="('up>=1,<2',)"), patch_a=BODY
    )
    report = checked([subject("1.0", mod=module, utils=config)])
    assert codes(report) == ["PK115"] * is_told


def test_the_module_is_the_one_that_defines_the_class(world: World) -> None:
    """Not the one that a target names, if it only imports the class."""
    fields = ["AddField('up.alias:C', 'added', 'LIMITS', None)"]
    world.pack(row("p", "patch_a", *fields, requires="('up>=1,<2',)"), patch_a=BODY)
    defined = f"LIMITS = int\n{MODULE}"
    assert "PK115" not in codes(
        checked([subject("1.0", mod=defined, alias="from up.mod import C")])
    )
    imported = "from up.mod import C\nLIMITS = int"
    report = checked([subject("1.0", mod=MODULE, alias=imported)])
    message = only_finding(report, "PK115").message
    assert "the type reads LIMITS, which nothing in up.mod defines" in message


@pytest.mark.parametrize(
    ("change", "question"),
    [
        (edit("return x + LIMITS"), "; did you mean LIMIT?"),
        (edit("return tiem.time()"), "; did you mean time?"),
        (edit("return mix(x)"), ""),
        (edit("return Tensor(x)"), ""),
        (field("dataclas"), "; did you mean dataclass?"),
        (field("boool"), "; did you mean bool?"),
        # The module has the word `it` in a comment, which is as like it.
        (field("itn"), "; did you mean int?"),
    ],
)
def test_a_near_name_is_asked_for(world: World, change: str, question: str) -> None:
    """A name of the function, of the module, or a builtin; not one that is a little like it."""
    world.pack(row("p", "patch_a", change, requires="('up>=1,<2',)"), patch_a=BODY)
    message = only_finding(checked([UP]), "PK115").message
    assert message.partition(" defines")[2] == question


def test_where_a_star_import_may_define_it_nothing_is_said(world: World) -> None:
    """What cannot be known is no fault."""
    change = edit("return x + LIMITS")
    world.pack(row("p", "patch_a", change, requires="('up>=1,<2',)"), patch_a=BODY)
    assert codes(checked([STAR])) == []


def test_the_names_that_are_looked_up() -> None:
    """Only of Edits and of AddFields with a text."""
    of_edit = Edit("up.mod:f", old="x + LIMIT", new="y.z + LIMIT + max(n)")
    assert names_to_find(of_edit) == ["n", "y"]
    assert names_to_find(AddField("up.mod:C", "a", "list[X]", None)) == ["X"]
    assert names_to_find(AddField("up.mod:C", "a", int, 0)) == []
    assert names_to_find(AddField("up.mod:C", "a", "not valid(", 0)) == []
    assert names_to_find(Wrap("up.mod:f", by="w")) == []


def test_the_names_that_a_function_reads_from_its_module() -> None:
    """None of a text that does not compile, nor those of decorators and defaults."""
    assert globals_read("@d\ndef f(x=D): return x + G") == {"G"}
    assert globals_read("def f(: pass") == set()
