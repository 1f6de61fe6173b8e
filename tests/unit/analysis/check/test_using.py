"""What bodies and packages use, in releases: what is gone, refused, guarded."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support.packages import row

from analysis.check.released import (
    checked,
    codes,
    find_only_in,
    only_finding,
    subject,
    write_wheels,
)
from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.reading.archive import Archived
from patchkit.analysis.upstream.reading.cache import Cache, default_directory
from patchkit.analysis.uses.files import uses_of
from patchkit.cli import main
from patchkit.core.lock.format import Lock
from patchkit.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

    from patchkit.analysis.uses.use import Use

WRAP = row("p", "patch_a", "Wrap('up.mod:f', by='w')")
BODY = "def w(wrapped, instance, args, kwargs):\n    {}\n"


DATA = """
from dataclasses import dataclass
from other import default
@dataclass
class C:
    a: int = default("a")
    b: int = default("b")
"""
STRUCT = """
import msgspec
class Mixin: ...
class C(Mixin, msgspec.Struct, dict=True):
    a: int
    _b: int = 0
"""


def body(top: str, inside: str = "...") -> str:
    """A body that has these first lines, and this line in its function."""
    return f"{top}\n{BODY.format(inside)}"


@pytest.mark.parametrize(
    ("text", "lib", "expected"),
    [
        (body("from up.lib import g"), "def g(): ...", []),
        (body("from up.lib import g"), "", ["PK601"]),
        (body("from up.lib import g"), "globals().update(x())", []),
        (body("import up.other"), "", ["PK601"]),
        (body("", "from up.lib import g"), "", ["PK602"]),
        (body("from up.lib import g", "from up.lib import g"), "", ["PK601"]),
        (body("from up.lib import C", "C.x"), "class C: ...", ["PK602"]),
        (body("from up.lib import C", "C.x"), "class C:\n    x = 1", []),
        (body("from up.lib import C", "C.x"), "", ["PK601"]),
        (body("import up.lib", "up.lib.held.x"), "held = None", []),
        (body("from up.lib import g", "g(1)"), "def g(a): ...", []),
        (body("from up.lib import g", "g(1)"), "def g(a, b): ...", ["PK603"]),
        (body("from up.lib import g", "g(*x)"), "def g(a, b): ...", []),
        (body("from up.lib import g", "g(*x, c=1)"), "def g(a, b): ...", ["PK603"]),
        (body("from up.lib import g", "g(1)"), "@made\ndef g(a, b): ...", []),
        (
            body("from up.lib import C", "C(1)"),
            "class C:\n    def __init__(self): ...",
            ["PK603"],
        ),
        (body("from up.lib import C", "C(a=1)"), DATA, []),
        (body("from up.lib import C", "C(1, 2)"), DATA, []),
        (body("from up.lib import C", "C(b=1)"), DATA, []),
        (body("from up.lib import C", "C(c=1)"), DATA, ["PK603"]),
        (body("from up.lib import C", "C(1, 2, 3)"), DATA, ["PK603"]),
        (body("from up.lib import C", "C(**x, c=1)"), DATA, ["PK603"]),
        (body("from up.lib import C", "C(c=1)"), f"{DATA}\nchange(C)", []),
        (body("from up.lib import C", "C(c=1)"), STRUCT, ["PK603"]),
        (body("from up.lib import C", "C(a=1, _b=1)"), STRUCT, []),
        (
            body("from up.lib import C", "C.f(1)"),
            "class C:\n    def f(self, a): ...",
            [],
        ),
        (
            body("from up.lib import C", "C.f(1)"),
            "class C:\n    @classmethod\n    def f(cls): ...",
            ["PK603"],
        ),
        (
            body("from up.lib import C\nclass D(C):\n    def f(self): super().f(1)"),
            "class C:\n    def f(self): ...",
            ["PK603"],
        ),
        (
            body("from up.lib import C\nclass D(C):\n    def f(self): ..."),
            "class C:\n    def f(self, a): ...",
            ["PK604"],
        ),
        (
            body("from up.lib import C\nclass D(C):\n    def f(self, *a, **k): ..."),
            "class C:\n    def f(self, a, *, b): ...",
            [],
        ),
        (
            body("from up.lib import C\nclass D(C):\n    def f(self): ..."),
            "class C:\n    def f(self, *args, **kwargs): ...",
            [],
        ),
        (
            body("from up.lib import C\ndef f(self): ...\nC.f = f"),
            "class C:\n    def f(self, a): ...",
            ["PK604"],
        ),
        (
            body("from up.lib import C\ndef f(self, a): ...\nC.f = f"),
            "class C:\n    def f(self, b): ...",
            ["PK604"],
        ),
        (
            body("from up.lib import C\ndef f(self, *a, **k): ...\nC.f = f"),
            "class C:\n    def f(self, a): ...",
            [],
        ),
        (
            body("from up.lib import C\ndef f(): ...\nC.f = f"),
            "class C:\n    @staticmethod\n    def f(a): ...",
            [],
        ),
        (
            body("import up.lib\ndef f(): ...\nup.lib.g = f"),
            "def g(a): ...",
            ["PK604"],
        ),
        (
            body("import up.lib\ndef f(): ...\nsetattr(up.lib, 'g', f)"),
            "def g(a): ...",
            ["PK604"],
        ),
        (body("import up.lib\ndef f(): ...\nup.lib.g = f"), "g = load()", []),
        (
            body(
                "import functools, up.lib\n@functools.wraps(print)\ndef f(): ...\nup.lib.g = f"
            ),
            "def g(a): ...",
            [],
        ),
    ],
)
def test_uses_of_a_body(world: World, text: str, lib: str, expected: list[str]) -> None:
    """What a body uses has to be there, and to take what it is given."""
    world.pack(WRAP, patch_a=text)
    report = checked([subject("1.0", mod="def f(): ...", lib=lib)])
    assert codes(report) == expected
    assert report.grid["p"]["up 1.0"] == ("broken" if expected else "ok")


@pytest.mark.parametrize(
    ("lib", "message"),
    [
        (
            "def g(a, b=1): ...",
            "it takes (a, b=…), so the call fails: got an unexpected keyword argument 'c'",
        ),
        (
            f"def g({', '.join(f'option_{number}=1' for number in range(30))}): ...",
            "the call fails: got an unexpected keyword argument 'c'",
        ),
        (
            DATA.replace("class C", "class g"),
            "the call fails: got an unexpected keyword argument 'c'",
        ),
    ],
)
def test_says_what_a_call_may_pass(world: World, lib: str, message: str) -> None:
    """But for a long list of options, or one of which not all is known."""
    world.pack(WRAP, patch_a=body("from up.lib import g", "g(1, c=2)"))
    report = checked([subject("1.0", mod="def f(): ...", lib=lib)])
    assert only_finding(report, "PK603").message == message


def test_what_is_guarded_is_a_note(world: World) -> None:
    """A guarded use of a name that is gone is a note, and the body holds."""
    world.pack(
        WRAP, patch_a=body("try:\n    from up.lib import g\nexcept ImportError: ...")
    )
    has_name = subject("1", mod="def f(): ...", lib="g = 1")
    lacks_name = subject("2", mod="def f(): ...", lib="")
    report = checked([has_name, lacks_name])
    assert only_finding(report, "PK605").release == "up 2"
    assert report.grid["p"]["up 2"] == "ok"


_TRY = "try:\n    from up.lib import new\nexcept {}:\n    {}"


@pytest.mark.parametrize(
    ("top", "lib", "expected"),
    [
        (_TRY.format("ImportError", "from up.lib import old"), "new = 1", []),
        (_TRY.format("ImportError", "from up.lib import old"), "old = 1", []),
        (
            _TRY.format("ImportError", "from up.lib import old"),
            "",
            ["PK601"],
        ),
        (_TRY.format("ImportError", "import up.old"), "", ["PK601"]),
        (
            _TRY.format("ImportError", "def g():\n        from up.lib import old"),
            "",
            ["PK602"],
        ),
        (
            _TRY.format(
                "ImportError",
                "try:\n        from up.lib import old\n    except ImportError: ...",
            ),
            "",
            [],
        ),
        (
            _TRY.format("ImportError", "from up.lib import old"),
            "from other import *",
            [],
        ),
        (_TRY.format("ModuleNotFoundError", "..."), "", ["PK601"]),
        (_TRY.format("(ModuleNotFoundError, ImportError)", "..."), "", []),
        (
            _TRY.format("ModuleNotFoundError", "...").replace("lib", "gone"),
            "",
            [],
        ),
        (_TRY.format("AttributeError", "..."), "", ["PK601"]),
    ],
)
def test_a_handler_that_does_not_help(
    world: World, top: str, lib: str, expected: list[str]
) -> None:
    """What a handler imports instead may be gone, too; and not each handler catches each error."""
    world.pack(WRAP, patch_a=body(top))
    fine = subject("1", mod="def f(): ...", lib="new = old = 1", old="", gone="new = 1")
    report = checked([fine, subject("2", mod="def f(): ...", lib=lib)])
    assert sorted(codes(report)) == expected
    is_broken = not {"PK601", "PK602"}.isdisjoint(expected)
    assert report.grid["p"]["up 2"] == ("broken" if is_broken else "ok")


def test_what_rows_add_and_provide_is_there(world: World) -> None:
    """Uses of what rows add and provide are no findings; a name beside it is gone as before."""
    changes = "Wrap('up.mod:f', by='w'), Add('up.lib:g', by='g')"
    world.pack(
        row("p", "patch_a", changes),
        row("q", "patch_b", "Provide('up.new')"),
        patch_a=body(
            "from up.lib import g, h\ng.attribute\nfrom up.new import x\ng = 1"
        ),
        patch_b="__all__ = []",
    )
    for names in ([], ["p"]):
        report = checked([subject("1.0", mod="def f(): ...", lib="")], names=names)
        assert "up.lib has no 'h'" in only_finding(report, "PK601").message


def test_a_used_name_that_moved_is_found_in_its_new_place(world: World) -> None:
    """The finding names the new place, and the line of the body that uses the old one."""
    world.pack(WRAP, patch_a=body("from up.old import g"))
    function = "def g(a, b):\n    return [a + b * at for at in range(a, b)] if a else sorted(b)\n"
    old = subject("1", mod="def f(): ...", old=function)
    report = checked([old, subject("2", mod="def f(): ...", new=function)])
    finding = only_finding(report, "PK601")
    assert "up.new:g" in finding.message
    assert (finding.release, finding.line) == ("up 2", 1)
    assert str(finding.file).endswith("patch_a.py")


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ("from pack.help import x", ["PK601"]),
        ("from . import help", ["PK601"]),
        ("try:\n    from . import help\nexcept ImportError: ...", []),
        ("def late():\n    from . import help", ["PK602"]),
        ("", []),
    ],
)
def test_helpers_of_the_pack_count(world: World, top: str, expected: list[str]) -> None:
    """What a body imports of its own package is read too, as it is imported."""
    world.pack(WRAP, patch_a=body(top), help="from up.lib import gone\nx = 1")
    assert codes(checked([subject("1.0", mod="def f(): ...", lib="")])) == expected


def test_what_every_release_refuses_is_meant(world: World) -> None:
    """An override that matches none of several releases is deliberate; one that did is PK604."""
    world.pack(
        WRAP, patch_a=body("from up.lib import C\nclass D(C):\n    def f(self): ...")
    )
    mod, base = "def f(): ...", "class C:\n    def f(self{}): ..."
    never = [subject(at, mod=mod, lib=base.format(", a")) for at in ("2", "3")]
    once = subject("1", mod=mod, lib=base.format(""))
    assert codes(checked(never)) == []
    assert codes(checked([once, *never])) == ["PK604", "PK604"]
    # Where it is not known how it is called, nothing shows that it once matched.
    unknown = "from other import mark\nclass C:\n    @mark\n    def f(self): ..."
    unsure = subject("1", mod=mod, lib=unknown)
    assert codes(checked([unsure, *never])) == []


def test_inverse_finds_releases_out_of_range_that_would_hold(world: World) -> None:
    """With `inverse`, releases out of range in which targets and uses hold are PK305."""
    fields = {"requires": "('up>=2,<4',)"}
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:f', by='w')", **fields),
        patch_a=body("from up.lib import g"),
    )
    texts = {
        "1": ("def f(): ...", "g = 1"),
        "2": ("def f(): ...", "g = 1"),
        "3": ("", "g = 1"),
        "4": ("def f(): ...", ""),
        "5": ("", "g = 1"),
        "6": ("def f(): ...", "g = 2"),
    }
    subjects = [
        subject(version, mod=mod, lib=lib) for version, (mod, lib) in texts.items()
    ]
    rows, _ = read_packs(Settings(), ["pack"])
    report = Check(list(rows), subjects, Lock(), {}, inverse=True).run()
    found = {
        (finding.code.code, finding.release)
        for finding in report.findings
        if finding.severity != "info"
        and finding.code.code in ("PK305", "PK101", "PK601")
    }
    assert found == {("PK305", "up 1"), ("PK305", "up 6"), ("PK101", "up 3")}
    assert report.grid["p"]["up 6"] == "out-of-range"
    codes_without_inverse = {
        finding.code.code for finding in checked(subjects).findings
    }
    assert "PK305" not in codes_without_inverse


@pytest.fixture
def index(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four releases of `up`, and nothing else to find."""
    monkeypatch.chdir(world.folder)
    find_only_in(monkeypatch, ".")
    texts = {
        "1.0": "",
        "1.1": "def g(): ...",
        "1.2": "def g(): ...",
        "1.3": "def h(): ...",
    }
    write_wheels(
        world.folder, {version: {"lib": text} for version, text in texts.items()}
    )
    return world.folder


def test_fit_of_a_folder(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`fit` never runs a package, and says what it uses and which releases have all of that."""
    (index / "theirs").mkdir()
    (index / "theirs" / "__init__.py").write_text(
        "from up.lib import g\nraise SystemExit\n"
    )
    words = ["fit", "theirs", "--of", "up", "--format"]
    assert main([*words, "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["package"] == "theirs"
    assert (answer["first"], answer["last"]) == ("up 1.1", "up 1.2")
    (use,) = answer["uses"]
    assert (use["name"], use["how"], use["guarded"]) == ("up.lib:g", "import", False)
    assert use["where"] == [{"file": "theirs/__init__.py", "line": 1}]
    fits = {release["release"]: release["fits"] for release in answer["releases"]}
    assert fits == {"up 1.0": False, "up 1.1": True, "up 1.2": True, "up 1.3": False}
    (gone,) = answer["releases"][-1]["findings"]
    assert (gone["code"], gone["name"], gone["moved_to"]) == ("PK601", "up.lib:g", None)
    for style in ("table", "markdown", "html", "github"):
        assert main([*words, style]) == 1
        assert "up.lib" in capsys.readouterr().out.replace("\\", "")


def test_exit_codes_of_fit(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`fit` exits with 0 where all fit, and with 2 without a package or a use to ask about."""
    (index / "theirs").mkdir()
    (index / "theirs" / "__init__.py").write_text("from up.lib import g\n")
    words = ["fit", "--of", "up", "--releases"]
    assert main([*words, "up>=1.1,<1.3", "theirs"]) == 0
    assert (
        "2 of 2 releases are compatible (1 name checked): up 1.1 to 1.2"
        in capsys.readouterr().out
    )
    assert main([*words, "up", "nowhere"]) == 2
    assert main([*words, "up", "nowhere.whl"]) == 2
    (index / "theirs" / "__init__.py").write_text("")
    assert main([*words, "up", "theirs"]) == 2
    (index / "theirs-1.0-py3-none-any.whl").write_bytes(
        (index / "up-1.0-py3-none-any.whl").read_bytes()
    )
    assert main([*words, "up==1.0", "theirs==1.0"]) == 2


def test_releases_are_opened_while_a_package_is_read(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fit` opens releases while it still reads what the package uses."""
    opened = threading.Event()
    paths = Archived.paths

    def noted(archive: Archived) -> frozenset[str]:
        opened.set()
        return paths(archive)

    def read(*arguments: Any) -> list[Use]:
        assert opened.wait(60)
        return uses_of(*arguments)

    monkeypatch.setattr(Archived, "paths", noted)
    monkeypatch.setattr("patchkit.analysis.check.fit.uses_of", read)
    (index / "theirs").mkdir()
    (index / "theirs" / "__init__.py").write_text(
        "from up.lib import g  # unheard of\n"
    )
    assert main(["fit", "theirs", "--of", "up", "--releases", "up==1.1"]) == 0
    assert opened.is_set()


def test_a_package_is_read_once(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a package uses is kept by its content, and read anew after a change or from no cache."""
    reads: list[object] = []

    def noted(*arguments: Any) -> list[Use]:
        reads.append(arguments)
        return uses_of(*arguments)

    monkeypatch.setattr("patchkit.analysis.check.fit.uses_of", noted)
    (index / "theirs").mkdir()
    words = ["fit", "theirs", "--of", "up", "--releases", "up==1.1"]

    def fit(text: str) -> tuple[int, int]:
        """Ask `fit` of this text; its exit code, and how many packages were read so far."""
        (index / "theirs" / "__init__.py").write_text(text)
        return main(words), len(reads)

    first = "from up.lib import g  # once\n"
    other = "from up.lib import h  # again\n"
    assert [fit(first), fit(first), fit(other)] == [(0, 1), (0, 1), (1, 2)]
    for file in default_directory().rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    assert [fit(first), fit(other)] == [(0, 3), (1, 4)]


def test_facts_without_sources_are_kept_apart() -> None:
    """`check` does not take over what `fit` has kept of a release, which lacks fingerprints."""
    cache, known = Cache(None), {"up.mod:f": Facts("absent", "it is gone").as_data()}
    FactStore(cache, brief=True).put("facts", "up 1", known)
    assert FactStore(cache, brief=True).get("facts", "up 1") == known
    assert FactStore(cache).get("facts", "up 1") is None
