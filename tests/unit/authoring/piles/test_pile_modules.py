"""Which modules of a pile `patchkit adopt` reads, and what becomes of the modules themselves."""

from __future__ import annotations

import json
import zipfile

import pytest

from authoring.index_of_up import INTO_MINE
from authoring.piles.pile_of_up import (
    PROBE,
    World,
    adopt,
    answers,
    here,
    kinds,
    world,
)
from patchkit.cli import main

__all__ = ["here", "world"]


def test_modules_that_the_pile_does_not_import_stay_with_it(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody else imports them, under conditions that nobody knows: they become no rows."""
    here.module("pile.__init__", "from pile import patch_a\n")
    text = "from up.lib import C\nC.new_{0} = 1\n"
    report = adopt(here, capsys, {f"patch_{name}": text.format(name) for name in "ab"})
    assert list(kinds(report)) == ["a"]
    assert [place["reason"] for place in report["left"]] == [
        "pile does not import pile.patch_b; --only pile.patch_b adopts it"
    ]


@pytest.mark.processes
def test_a_package_that_patches_stays_a_package(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its submodules are imported as before; modules named alike have rows of their own."""
    here.module("pile.patches.helper", "VALUE = 'helped'\n")
    text = "from up import lib\nfrom .helper import VALUE\nlib.extra = VALUE\n"
    here.module("pile.patches.__init__", text)
    modules = {
        "patch_x": "from up.lib import C\nC.new = 1\n",
        "x": "from up import lib\nlib.g = 2\n",
    }
    report = adopt(here, capsys, modules)
    assert report["left"] == []
    assert sorted(kinds(report)) == ["patches", "x", "x-2"]
    probe = PROBE.replace("lib.g()", "lib.g").replace(", user.use()", "")
    probe = f"import pile.patches.helper, pile.patch_x, pile.x\n{probe}"
    of_pile = here.answer(f"import pile.patches\n{probe}", PATCHKIT="0")
    apply = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    assert here.answer(f"{apply}{probe}") == of_pile


@pytest.mark.processes
def test_a_module_that_its_own_package_imports_stays_the_pile_s(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pack has the text of the package, and not of the module, which changes nothing."""
    here.module("pile.patches.helper", "def g():\n    return 'new'\n")
    text = "from up import lib\nfrom pile.patches import helper\nlib.g = helper.g\n"
    here.module("pile.patches.__init__", text)
    report = adopt(here, capsys, {})
    assert report["left"] == []
    of_pile, of_rows = answers(here)
    assert of_rows == of_pile


def test_modules_in_no_package_are_listed_as_not_kept_off(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """They become rows, but nothing can keep the modules themselves off."""
    (here.folder / "loose").mkdir()
    (here.folder / "loose" / "one.py").write_text("from up.lib import C\nC.new = 1\n")
    words = [*INTO_MINE, "--format", "json"]
    assert main(["adopt", "loose", *words]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [patch["name"] for patch in report["patches"]] == ["one"]
    assert "nothing keeps it off" in report["left"][0]["reason"]


def test_a_release_whose_name_begins_like_upstreams_is_a_pile(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`up-pile==1.0` is a pile of its own, and no later `up`."""
    with zipfile.ZipFile(here.folder / "up_pile-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("up_pile/__init__.py", "")
        archive.writestr("up_pile/patches.py", "from up.lib import C\nC.new = 1\n")
        archive.writestr("up_pile-1.0.dist-info/METADATA", "Name: up-pile\n")
    words = ["adopt", "up-pile==1.0", *INTO_MINE]
    assert main(words) == 0
    assert "1 of 1 changes are in rows" in capsys.readouterr().out


def test_a_part_of_a_package_is_adopted_with_a_warning(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`adopt` ends with 0, and warns that the folder is only a part of a package."""
    here.module("pile.sub.patches", "from up.lib import C\nC.new = 1\n")
    words = ["adopt", "pile/sub", *INTO_MINE]
    assert main(words) == 0
    assert "pile/sub is a part of a package" in capsys.readouterr().err


@pytest.mark.processes
def test_the_pile_itself_is_no_release_to_look_at(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """No command asks an index for the pile or for its version, as nobody has released it."""
    adopt(here, capsys, {"patches": "from up.lib import C\nC.new = 1\n"})
    for words in (
        ["check"],
        ["check", "old-pile"],
        ["lock"],
        ["list", "--debt"],
        ["history", "old-pile"],
        ["rebase", "old-pile", "--to", "1.0"],
    ):
        assert main([*words, "--patches", "mine"]) == 0, words
    out, err = capsys.readouterr()
    assert "pile 1" not in out
    assert "old-pile: left as it is, it changes nothing of up" in err
