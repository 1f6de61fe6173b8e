"""What helpers, hooks and later statements set on classes, compared with what Python makes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest
from support.programs import program

from analysis.upstream.memory import resolve
from analysis.upstream.resolving.real import RealPackage
from patchkit.analysis.upstream.fingerprint import of_resolution

if TYPE_CHECKING:
    from pathlib import Path

SETTERS = program(__file__, "setters")
CLASSES = program(__file__, "set_on_classes")
NAMES = ("more", "run", "nothing", "__init__")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealPackage:
    return RealPackage(tmp_path, monkeypatch, setters=SETTERS, classes=CLASSES)


def test_what_is_told_for_sure_is_so(package: RealPackage) -> None:
    """Of each class each name: whether it is there, and how it is called."""
    wrong: list[str] = []
    module = package.modules["classes"]
    for name, cls in vars(module).items():
        if not isinstance(cls, type) or cls.__module__ != "up.classes":
            continue
        for attribute in NAMES:
            qualname = f"{name}.{attribute}"
            resolution = package.resolve("classes", qualname)
            is_there = package.has("classes", qualname)
            if resolution.state == ("absent" if is_there else "present"):
                wrong.append(f"{qualname} is {resolution.state}")
            if resolution.signature is not None:
                real = package.signature("classes", qualname)
                if real != resolution.signature:
                    wrong.append(f"{qualname} takes {real}")
        signature = package.resolve("classes", name).signature
        if signature is not None and str(signature) != str(inspect.signature(cls)):
            wrong.append(f"{name} takes {inspect.signature(cls)}")
    assert wrong == []


@pytest.mark.parametrize(
    ("qualname", "state"),
    [
        ("Imported.nothing", "absent"),
        ("Through.nothing", "absent"),
        ("ThroughModule.nothing", "absent"),
        ("WithOptions.nothing", "absent"),
        ("Registered.more", "absent"),
        ("Registered.nothing", "absent"),
        ("OfBase.nothing", "absent"),
        ("OfModuleBase.nothing", "absent"),
        ("Below.nothing", "absent"),
        ("NeverSet.more", "absent"),
        ("ByName.nothing", "absent"),
        ("ByNames.nothing", "undecidable"),
        ("Beyond.nothing", "undecidable"),
        ("Unknown.nothing", "undecidable"),
        ("Below.more", "undecidable"),
    ],
)
def test_a_helper_that_is_read_opens_no_class(
    package: RealPackage, qualname: str, state: str
) -> None:
    """What it sets is known, in whichever module it is; one that is not known may set any name."""
    assert package.resolve("classes", qualname).state == state


METHOD = "def g2(self, a, b): return 1\nclass K:\n    def g(self, a): pass\n"


@pytest.mark.parametrize(
    "below",
    ["K.g = g2\n", "setattr(K, 'g', g2)\n", "def fix():\n    K.g = g2\nfix()\n"],
)
def test_what_replaces_a_method_is_in_its_fingerprint(below: str) -> None:
    """Both the statement and the function that it puts there."""
    plain = of_resolution(resolve(METHOD, "K.g"))
    replaced = of_resolution(resolve(METHOD + below, "K.g"))
    other = METHOD.replace("return 1", "return 2")
    changed = of_resolution(resolve(other + below, "K.g"))
    assert plain == of_resolution(resolve(other, "K.g"))
    assert len({plain, replaced, changed}) == 3
