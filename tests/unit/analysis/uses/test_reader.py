from __future__ import annotations

import ast
import json
import textwrap

import pytest

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.uses.files import uses_of
from patchkit.analysis.uses.use import Use

DEEP = " + 1" * 900
"""More than a reader that calls itself gets through."""


def read(text: str, path: str = "own/mod.py") -> list[Use]:
    """The uses of `up` in a file."""
    source = textwrap.dedent(text)
    name = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    is_package = path.endswith("__init__.py")
    tree = ModuleTree(name, path, is_package, ast.parse(source), source.encode())
    return uses_of([tree], ["up"])


def summaries(text: str) -> list[str]:
    """The uses of `up` in a file, each in a few words: `import up.a:C`."""
    return [f"{use.how} {use.target}" for use in read(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import up.a", ["import up.a"]),
        ("import up.a as m; m.C.f", ["import up.a", "attribute up.a:C.f"]),
        (
            "import up.a, up.b; up.a.C",
            ["import up.a", "import up.b", "attribute up.a:C"],
        ),
        ("from up.a import C as D; D.f", ["import up.a:C", "attribute up.a:C.f"]),
        ("from up.a import C; C(1)", ["import up.a:C", "call up.a:C"]),
        ("from up.a import *", ["import up.a"]),
        ("import other.up; from .up import x", []),
        ("import up\nclass D(up.C): ...", ["import up", "base up:C"]),
        (
            "from up import C\ndef f():\n    return C.x",
            ["import up:C", "attribute up:C.x"],
        ),
        ("from up import C\ndef f(C):\n    return C.x", ["import up:C"]),
        ("from up import C\nC = wrap(C)\nC.x", ["import up:C"]),
        ("from up import C\n[C.x for C in several]", ["import up:C"]),
        ("from up import C\nlambda C: C.x", ["import up:C"]),
        ("from up import C\ndef f():\n    global C\n    C = 1\nC.x", ["import up:C"]),
        ("from up import C\nif (C := f()): C.x", ["import up:C"]),
        ("from up import C\n[(C := x) for x in y]\nC.x", ["import up:C"]),
        (
            "def f():\n    from up import C\n    C.x",
            ["import up:C", "attribute up:C.x"],
        ),
        (
            "from up import C\nclass K:\n    C = 1\n    def f(self):\n        C.x",
            ["import up:C"],
        ),
        (
            "from up import C\ndef f():\n    from up.a import C\n    C.x",
            ["import up:C", "import up.a:C"],
        ),
        ("import up\nup.C.x = 1", ["import up", "set up:C.x", "attribute up:C"]),
        (
            "import up\nsetattr(up.C, 'x', 1)",
            ["import up", "set up:C.x", "attribute up:C"],
        ),
        (
            "import up\nclass D(up.C):\n    x = 1\n    y: int\n    z: int = 2\n    __slots__ = ()",
            ["import up", "base up:C", "override up:C.x", "override up:C.z"],
        ),
        (
            "import up\ngetattr(up.C, 'x')",
            ["import up", "attribute up:C.x", "attribute up:C"],
        ),
        ("importlib.import_module('up.a')", ["import up.a"]),
        (
            "from __future__ import annotations\nimport up\ndef f(x: up.C): ...",
            ["import up"],
        ),
        (
            "from __future__ import generators\nimport up\ndef f(x: up.C): ...",
            ["import up", "attribute up:C"],
        ),
        ("import up\ndef f(x: up.C): ...", ["import up", "attribute up:C"]),
        ("import up\ndef f():\n    x: up.C = 1", ["import up"]),
        ("import up\n@up.C\n@own\ndef f(): ...", ["import up", "attribute up:C"]),
        ("import up\nx = f(\n    1,\n    up.C,\n)", ["import up", "attribute up:C"]),
        ("from up import C as ключ\rключ.x", ["import up:C", "attribute up:C.x"]),
    ],
)
def test_what_a_file_uses(text: str, expected: list[str]) -> None:
    """Names are followed from imports; what a file binds in another way as well is its own."""
    assert summaries(text) == expected


NAMED_BY_TEXT = {
    "CALL('up.a.C.f')": [],
    "patch('up.a.C.f')": ["attribute up.a:C.f"],
    "@mock.patch('up.a.b.f', new=1)\ndef t(): ...": ["attribute up:a.b.f"],
    "with mock.patch.object(up.C, 'f'): ...": ["attribute up:C.f", "attribute up:C"],
    "mock.patch.object(own, 'f')": [],
    "@register_patch(target='up.a.C.f', reason='slow')\ndef f(): ...": [
        "attribute up.a:C.f"
    ],
    "mock.patch.dict('up.a.D', {'a': 1})": ["attribute up.a:D"],
    "mock.patch('json.dumps')": [],
    "monkeypatch.setattr('up.a.f', 1)": ["attribute up:a.f"],
    "wrapt.wrap_function_wrapper('up.a', 'C.f', w)": ["attribute up.a:C.f"],
    "wrapt.wrap_function_wrapper(up.a, 'C.f', w)": [
        "attribute up:a.C.f",
        "attribute up:a",
    ],
    "resolve_obj_by_qualname('up.platforms.cpu.Cpu')": [
        "attribute up.platforms.cpu:Cpu"
    ],
    "register('Mine', 'up.a:C')": ["attribute up.a:C"],
    "TABLE = {'a': 'up.a:C.f'}": ["attribute up.a:C.f"],
    "x = 'up:requests_total', 'up.a.C', 'see up.a:C', f'up.a:C{x}', 'own.a:C'": [],
    "m = import_module('up.a')\nm.C(1)": ["import up.a", "call up.a:C"],
    "m = sys.modules['up.a']\nm.C": ["attribute up.a:C"],
    "m = import_module('up.a')\nm = other()\nm.C": ["import up.a"],
    "import_module('up.a').C.f": ["attribute up.a:C.f", "import up.a"],
    "getattr(import_module('up.a'), 'f')(1)": ["attribute up.a:f", "import up.a"],
    "delattr(up.C, 'f')": ["attribute up:C.f", "attribute up:C"],
    "__import__('up.a')": ["import up.a"],
    "from patchkit import Wrap\nWrap('up.a:C.f', by='f')": [],
}


@pytest.mark.parametrize("text", NAMED_BY_TEXT)
def test_names_in_texts_are_uses(text: str) -> None:
    """Where a text can mean nothing else, or is given to what imports the name that it says."""
    uses = summaries(f"import up\n{text}")
    assert uses == ["import up", *NAMED_BY_TEXT[text]]


def test_what_a_text_names_is_used_later() -> None:
    """The file is imported without it; a patcher may be told to do without it, too."""
    text = "TABLE = ['up.a:C', mock.patch('up.C', create=True), mock.patch('up.D')]"
    uses = [(use.at_import, use.guarded) for use in read(text)]
    assert uses == [(False, False), (False, True), (False, False)]


def test_overrides_and_calls_of_the_base() -> None:
    """A plain method of a subclass is an override, `super()` calls the base with `self` bound."""
    text = """
        from up import C
        class D(C):
            def __init__(self, x):
                super().__init__(x, y=1)
            def f(self, a): ...
            @property
            def g(self): ...
    """
    _, base, override, attribute, call = read(text)
    assert (str(attribute.target), attribute.ours) == ("up:C.g", None)
    assert (base.how, str(override.target), str(override.ours)) == (
        "base",
        "up:C.f",
        "(self, a)",
    )
    assert call.call is not None
    assert (str(call.target), call.call.places, call.call.names) == (
        "up:C.__init__",
        1,
        ("y",),
    )
    assert call.call.bound


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("from up import X", False),
        ("try:\n    from up import X\nexcept ImportError: ...", True),
        ("try:\n    from up import X\nexcept (KeyError, AttributeError): ...", True),
        ("try: ...\nexcept ImportError:\n    from up import X", True),
        ("try:\n    from up import X\nexcept ValueError: ...", False),
        ("try: ...\nexcept ImportError: ...\nelse:\n    from up import X", False),
        ("with suppress(ImportError):\n    from up import X", True),
        ("with open(x):\n    from up import X", False),
        ("if TYPE_CHECKING:\n    from up import X", True),
        ("if vllm_version_is('1'):\n    from up import X", True),
        (
            "if Version(up.__version__) >= Version('1'): ...\nelse:\n    from up import X",
            True,
        ),
        ("if envs.USE_X:\n    from up import X", True),
        ("if ready:\n    from up import X", False),
        ("new = find_spec('x') is not None\nif new:\n    from up import X", True),
        (
            "def f():\n    if not vllm_version_is('1'):\n        return\n    from up import X",
            True,
        ),
        ("def f():\n    if not ready:\n        return\n    from up import X", False),
        (
            "try:\n    import x\nexcept ImportError:\n    x = None\nif x:\n    from up import X",
            False,
        ),
        (
            "try:\n    import up\nexcept ImportError:\n    up = 0\nif up:\n    from up import X",
            True,
        ),
        ("if getattr(model, 'quick', None):\n    from up import X", False),
        ("import up\nif getattr(up, 'Y', None):\n    from up import X", True),
        ("import up\nup.X = 1\nfrom up import X", True),
        (
            "import sys\nsys.modules['up.a'] = mine\nimport up.a\nfrom up import X",
            False,
        ),
        ("import up\nsetattr(up, 'X', 1)\nfrom up import X", True),
        ("import up\nold = up.X\nup.X = 1", False),
        ("import up\nup.X = wrap(\n    up.X\n)", False),
        ("import up\nold = up.X\ndef apply(): up.X = 1", False),
        ("import up\ndef f(): up.X()\nup.X = 1", True),
        ("def apply():\n    from up import X\n    import up\n    up.X = 1", False),
        (
            "try:\n    from up import X\nexcept ImportError as e:\n    raise Old from e",
            False,
        ),
        (
            "def f():\n    try:\n        from up import X\n    except ImportError:\n        raise",
            True,
        ),
        ("import up\nif up.__version__ < '1':\n    raise Old\nfrom up import X", False),
        (
            "import up\ndef f():\n    if up.version:\n        raise Old\n    from up import X",
            True,
        ),
        (
            "import up\nmatch up.__version__:\n    case '1':\n        from up import X",
            True,
        ),
        (f"from up import Y\nz = Y{DEEP}\nfrom up import X", False),
        (f"from up import Y\nif find_spec(Y{DEEP}): ...\nfrom up import X", False),
        (f"from up import Y\nz = 0 if envs else Y{DEEP}\nfrom up import X", False),
    ],
)
def test_uses_that_reckon_with_absence_are_guarded(text: str, guarded: bool) -> None:
    """A use below a test of what is there, or of a name that the file has set, is guarded."""
    uses = [use for use in read(text) if str(use.target) == "up:X" and use.how != "set"]
    assert [use.guarded for use in uses] == [guarded] * len(uses)
    assert uses


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("hasattr(up.C, 'x')", True),
        ("getattr(up.C, 'x', None)", True),
        ("getattr(up.C, 'x')", False),
        ("hasattr(up, 'C') and up.C.x", True),
        ("up.C.x if hasattr(up, 'C') else None", True),
    ],
)
def test_hasattr_and_getattr_with_a_default_are_guarded(
    text: str, guarded: bool
) -> None:
    """`hasattr`, and `getattr` with a default, reckon with absence; a plain `getattr` does not."""
    uses = [use for use in read(f"import up\n{text}") if str(use.target) == "up:C.x"]
    assert [use.guarded for use in uses] == [guarded]


def test_uses_are_the_same_after_a_trip_through_json() -> None:
    """Uses that are written as JSON are equal to those that are read from it."""
    text = "from up import C\nclass D(C):\n    def f(self, a=1, *, b): super().f(*a, b=b)\nC(1)"
    uses = read(text)
    assert [use.how for use in uses] == ["import", "base", "override", "call", "call"]
    data = json.loads(json.dumps([use.as_data() for use in uses]))
    assert [Use.of_data(use) for use in data] == uses


@pytest.mark.parametrize(
    ("inside", "is_read"),
    [
        ("def g(self): self.f()", True),
        ("def g(self): super().f()", False),
        ("def g(self, x): x.held.f", True),
        ("def g(self): self.f = 1", False),
    ],
)
def test_overrides_that_the_package_reads_itself(inside: str, is_read: bool) -> None:
    """An override is marked where the package reads an attribute of its name."""
    text = f"from up import C\nclass D(C):\n    def f(self): ...\n    {inside}"
    (override,) = [use for use in read(text) if use.target.qualname == "C.f"][:1]
    assert override.read_here is is_read


def test_what_runs_as_the_file_is_imported() -> None:
    """Module and class bodies run at import, decorators and defaults of functions too."""
    text = """
        import up
        class D:
            x = up.a
        @up.b
        def f(y=up.c):
            return up.d
        g = lambda: up.e
    """
    at_import = {str(use.target): use.at_import for use in read(text)}
    assert [name for name, is_at_import in at_import.items() if not is_at_import] == [
        "up:d",
        "up:e",
    ]


def test_a_module_that_a_file_puts_into_sys_modules() -> None:
    """Uses of a module that the file puts into `sys.modules` are guarded, except of `up` itself."""
    text = "import sys\nsys.modules['{}'] = mine\nfrom up.a import X\nimport up.a\n"
    assert [use.guarded for use in read(text.format("up.a"))] == [True, True]
    assert [use.guarded for use in read(text.format("up"))] == [False, False]


@pytest.mark.parametrize(
    ("call", "guarded"),
    [
        ("extend_enum(C, 'X', 1)", True),
        ("C.register('X', 1)", True),
        ("C.register('X', value=1)", True),
        ("C.register(name.upper(), 1)", False),  # it may be any other
        ("C.register('Y', 1)", False),
        ("C.register('X')", False),  # as that of `abc.ABC`, which adds no name
        ("C.register(Mine)", False),
        ("C.D.register('X', 1)", False),
        ("mine.register('X', 1)", False),
        ("C.unregister('X', 1)", False),
        ("extend_enum(C, 'Y', 1)", False),
        ("extend_enum('C', 'X', 1)", False),
        ("isinstance(C, X)", False),
    ],
)
def test_a_name_that_a_call_may_set(call: str, guarded: bool) -> None:
    """A call that is passed an object of upstream and a name may set that name on the object."""
    uses = read(f"from up.a import C\n{call}\nC.X\n")
    assert [use.guarded for use in uses if str(use.target) == "up.a:C.X"] == [guarded]
