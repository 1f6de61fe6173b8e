from __future__ import annotations

import importlib
import json
import os
import sys
import zipfile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import World, row

from patchkit import Role
from patchkit.errors import AgreementError
from patchkit.runtime.process import patch_set as patch_sets
from patchkit.runtime.process.patch_set import PatchDigest, fingerprint

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

REPLACE = "Replace('up.mod:function', by='function')"
BODY = "def function(): return 'new'\ndef when(): return True\n"
BOTH = "{Role.MAIN, Role.WORKER}"


def a_session(world: World, *rows: str, body: str = BODY, **settings: Any) -> Session:
    """Make a session over upstream and a pack whose rows share one body."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(*(rows or (row("p", "patch_a", REPLACE, roles=BOTH),)), patch_a=body)
    return world.session(**settings)


def a_config(**fields: Any) -> Any:
    """What patchkit knows of `VllmConfig`."""
    return SimpleNamespace(additional_config=fields)


def digests(session: Session) -> dict[str, str]:
    """What the session told its journal."""
    entries = [entry for entry in session.journal.entries if entry["event"] == "digest"]
    return {entry["role"]: entry["digest"] for entry in entries}


def test_equal_sets_agree(world: World) -> None:
    """What main wrote is what a worker with the same pack and settings finds for itself."""
    config = a_config(other=1)
    session = a_session(world)
    session.stamp(config)
    session.agree(Role.WORKER, config)
    assert config.additional_config["other"] == 1
    assert set(config.additional_config["patchkit"]["worker"]) == {"p"}
    assert digests(session)["main"] == digests(session)["worker"]


def test_a_worker_that_leaves_a_patch_out_is_stopped(world: World) -> None:
    """The error names the patch, both sets and the node."""
    config = a_config()
    a_session(world).stamp(config)
    other = world.session(disabled=("p",))
    with pytest.raises(
        AgreementError, match=r"p only in the main process.*selects p .*nothing"
    ) as e:
        other.agree(Role.WORKER, config)
    assert os.uname().nodename in str(e.value)
    assert other.journal.entries[-1]["event"] == "disagreement"


def test_a_worker_with_one_more_is_stopped(world: World) -> None:
    """A patch that only a worker has makes its rank another."""
    config = a_config()
    a_session(world, disabled=("p",)).stamp(config)
    with pytest.raises(AgreementError, match="p only here"):
        world.session().agree(Role.WORKER, config)


def test_other_code_under_the_same_name_is_stopped(world: World) -> None:
    """Two nodes with different versions of a pack are told apart by the bytes of the body."""
    config = a_config()
    a_session(world).stamp(config)
    world.module("pack.patch_a", BODY + "# another\n")
    with pytest.raises(AgreementError, match="p has other code here"):
        world.session().agree(Role.WORKER, config)


def test_where_order_says_nothing_it_does_not_count(world: World) -> None:
    """Of what a change requires, and of where it repoints copies."""
    change = "Replace('up.mod:function', by='function', requires={}, rebind={})"
    orders = [("('up>=1', 'up<9')", "('a', 'b')"), ("('up<9', 'up>=1')", "('b', 'a')")]
    rows = [row("p", "patch_a", change.format(*one), roles=BOTH) for one in orders]
    first = a_session(world, rows[0]).states["p"].row
    world.pack(rows[1], name="other", patch_a=BODY)
    second = world.session("other").states["p"].row
    assert vars(first.patch.changes[0]) != vars(second.patch.changes[0])
    assert fingerprint(first) == fingerprint(second)


def test_warn_lets_it_go_on(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """PATCHKIT_ON_FAILURE=warn makes it one line on stderr."""
    config = a_config()
    a_session(world).stamp(config)
    world.session(disabled=("p",), on_failure="warn").agree(Role.WORKER, config)
    assert "p only in the main process" in capsys.readouterr().err


def test_a_when_that_nobody_has_asked_is_open(world: World) -> None:
    """A worker may skip by `when` what main, which never runs it, could not ask."""
    config = a_config()
    rows = (row("p", "patch_a", REPLACE, roles="{Role.WORKER}", when="'when'"),)
    a_session(world, *rows).stamp(config)
    world.session(disabled=("p",)).agree(Role.WORKER, config)


def test_a_configuration_without_a_stamp_says_nothing(world: World) -> None:
    """Where the main process knows no patchkit, a worker cannot compare, and goes on."""
    a_session(world).agree(Role.WORKER, a_config())


@pytest.mark.parametrize("extra", [object(), None])
def test_a_place_for_the_stamp(world: World, extra: object) -> None:
    """None becomes a dict; an object of the platform's own is left alone."""
    config = SimpleNamespace(additional_config=extra)
    session = a_session(world)
    session.stamp(config)
    assert isinstance(config.additional_config, dict) is (extra is None)
    session.agree(Role.WORKER, config)


def test_digests_are_equal_for_equal_sets_only() -> None:
    """An open `when` does not count, nor where the set stands; names, order and code do."""
    one = {"a": PatchDigest(0, "1", "2"), "b": PatchDigest(1, "3", "2")}
    same = {"b": PatchDigest(7, "3", "2", is_open=True), "a": PatchDigest(5, "1", "2")}
    assert patch_sets.digest(one) == patch_sets.digest(same)
    others: list[dict[str, PatchDigest]] = [
        {},
        {"a": one["a"]},
        {"a": one["a"], "b": PatchDigest(1, "4", "2")},
        {"a": one["a"], "b": PatchDigest(1, "3", "9")},
        {"b": PatchDigest(0, "3", "2"), "a": PatchDigest(1, "1", "2")},
    ]
    assert patch_sets.digest(one) not in [patch_sets.digest(other) for other in others]


# -- what decides ---------------------------------------------------------------------------------


TWO = (
    row("p", "patch_a", REPLACE, roles=BOTH),
    row("q", "patch_a", "Add('up.mod:more', by='when')", roles=BOTH),
)


def disagreement(world: World, config: Any) -> str:
    """What a worker that starts now says of a configuration."""
    with pytest.raises(AgreementError) as caught:
        world.session().agree(Role.WORKER, config)
    return str(caught.value)


@pytest.mark.parametrize("module", ["pack.helpers", "pack.inner.deep", "pack.patch_b"])
def test_a_helper_module_of_the_pack_counts(world: World, module: str) -> None:
    """Any module that a body may import, beneath the pack too; none is imported for that."""
    for name in ("pack.helpers", "pack.inner.deep"):
        world.module(name, "raise AssertionError('a helper was imported')")
    world.pack(row("other", "patch_b", "Wrap('up.b:f', by='f')"), patch_b="")
    config = a_config()
    rows = (*TWO, row("other", "patch_b", "Wrap('up.b:f', by='f')"))
    a_session(world, *rows).stamp(config)
    world.module(module, "changed = True")
    text = disagreement(world, config)
    assert "p has another module in its pack here; q has another module" in text


def test_a_data_file_counts(world: World) -> None:
    """The bytes of what a row names in `data`, for that row."""
    (world.folder / "pack").mkdir()
    table = world.folder / "pack" / "table.json"
    table.write_text("[1]")
    config = a_config()
    a_session(
        world, row("p", "patch_a", REPLACE, roles=BOTH, data="('table.json',)")
    ).stamp(config)
    world.session().agree(Role.WORKER, config)
    table.write_text("[2]")
    assert "p has other code here" in disagreement(world, config)


def test_the_order_of_rows_counts(world: World) -> None:
    """Two patches that apply the other way round are another program."""
    config = a_config()
    a_session(world, *TWO).stamp(config)
    del sys.modules["pack"]
    a_session(world, *reversed(TWO))
    assert "they apply in the order q, p here, not p, q" in disagreement(world, config)


def test_the_order_of_packs_counts(world: World) -> None:
    """As they are named, so they apply; the compile cache's key knows it."""
    config = a_config()
    a_session(world)
    world.pack(row("q", "patch_b", REPLACE, roles=BOTH), name="second", patch_b=BODY)
    world.session("pack", "second").stamp(config)
    world.session("pack", "second").agree(Role.WORKER, config)
    other = a_config()
    world.session("second", "pack").stamp(other)
    assert key_of(config) != key_of(other)
    with pytest.raises(AgreementError, match="they apply in the order q, p here"):
        world.session("second", "pack").agree(Role.WORKER, config)


def test_patchkits_own_version_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one is named as such, and is another key; one that did not say is an earlier one."""
    config, other = a_config(), a_config()
    session = a_session(world)
    session.stamp(config)
    before = digests(session)
    monkeypatch.setattr("patchkit.__version__", "99.0")
    text = disagreement(world, config)
    assert "runs patchkit 99.0, and the main process 0." in text
    session.stamp(other)
    assert key_of(config) != key_of(other)
    assert digests(session) != before
    del config.additional_config["patchkit"]["version"]
    assert "the main process an earlier one" in disagreement(world, config)


def key_of(config: Any) -> str:
    """What vLLM makes its key of."""
    return json.dumps(config.additional_config, sort_keys=True)


DEFAULTS = (
    '{"a", "b", "c"}',
    '{frozenset({"x", "y", "z"}): [{"p", "q"}], "k": ("t", {1, 2})}',
    "os.getcwd",
    "list",
    "helper",
    "Role.MAIN",
    "re.compile('a')",
)
FIELD_PACK = """
import os, re
from patchkit import AddField, Patch, Role
def helper(): ...
PATCHES = (Patch(
    name="p", requires=("up>=1",), roles={{Role.MAIN, Role.WORKER}},
    changes=({changes}),
),)
"""
SPAWN = """
import json, multiprocessing, sys, patchkit.auto
from types import SimpleNamespace
from patchkit import Role
from patchkit.runtime.reach.arming import current
def agree(config, answers):
    current().agree(Role.WORKER, config)
    answers.put("agreed")
if __name__ == "__main__":
    config = SimpleNamespace(additional_config={})
    current().stamp(config)
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=agree, args=(config, answers), name="VllmWorker-0")
    child.start()
    answer = answers.get(timeout=20) if child.join(20) or not child.exitcode else "stopped"
    digests = [one["digest"] for one in current().journal.entries if one["event"] == "digest"]
    print(json.dumps([answer, config.additional_config, digests]))
"""


@pytest.mark.processes
def test_values_are_the_same_in_every_process(world: World) -> None:
    """A spawned worker agrees, and key and digest are equal from start to start."""
    fields = [
        f'AddField("up.mod:Config", "extra{number}", "object", {default}),'
        for number, default in enumerate(DEFAULTS)
    ]
    world.module("up.mod", "class Config: ...")
    world.module("pack.__init__", FIELD_PACK.format(changes="".join(fields)))
    found = [world.script(SPAWN, PYTHONHASHSEED=seed) for seed in ("0", "1", "random")]
    assert found[0][0] == "agreed"
    assert all(one == found[0] for one in found)


def test_a_pack_in_an_archive_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the archive, as one cannot be changed in part."""
    config = a_config()
    a_session(world)
    archive = world.folder / "packs.zip"

    def zipped(helper: str) -> Session:
        with zipfile.ZipFile(archive, "w") as file:
            for one in (world.folder / "pack").glob("*.py"):
                file.write(one, f"zipped/{one.name}")
            file.writestr("zipped/helper.py", helper)
        sys.modules.pop("zipped", None)
        return world.session("zipped")

    monkeypatch.syspath_prepend(str(archive))
    zipped("ONE = 1").stamp(config)
    zipped("ONE = 1").agree(Role.WORKER, config)
    with pytest.raises(AgreementError, match="p has another module in its pack here"):
        zipped("ONE = 2").agree(Role.WORKER, config)


def test_a_part_of_a_pack_that_is_a_link_counts(world: World) -> None:
    """Its modules are imported like any others; a link that leads back ends the walk."""
    a_session(world)
    elsewhere = world.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "helper.py").write_text("ONE = 1")
    (world.folder / "pack" / "linked").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(world.folder / "pack")
    config = a_config()
    world.session().stamp(config)
    world.session().agree(Role.WORKER, config)
    (elsewhere / "helper.py").write_text("ONE = 2")
    with pytest.raises(AgreementError, match="p has another module in its pack here"):
        world.session().agree(Role.WORKER, config)


def test_the_stamp_has_what_is_applied_or_may_be(world: World) -> None:
    """Whether a patch has been asked already or not; what has failed is not among them."""
    rows = (
        row("applied", "patch_a", REPLACE),
        row(
            "failed",
            "patch_a",
            "Replace('up.mod:absent', by='function')",
            required="False",
        ),
        row("waits", "patch_a", "Replace('up.late:function', by='function')"),
        row("unmet", "patch_a", REPLACE, requires="('up>=2',)"),
    )
    session = a_session(world, *rows)
    session.arm({Role.MAIN})
    importlib.import_module("up.mod")
    config = a_config()
    session.stamp(config)
    (stamp,) = config.additional_config.values()
    assert list(stamp["main"]) == ["applied", "waits"]


def test_a_stamp_tells_what_is_not_for_here(world: World) -> None:
    """Versions are known by then: the journal says which patches wait in vain."""
    session = a_session(world, row("p", "patch_a", REPLACE, requires="('up>=2',)"))
    session.arm({Role.MAIN})
    session.stamp(a_config())
    (told,) = [entry for entry in session.journal.entries if entry["event"] == "unmet"]
    assert told["reasons"] == {"p": "up 1.0 is outside >=2"}


def test_which_patches_lie_on_an_attribute(world: World) -> None:
    """Another copy of patchkit asks; nothing is said of what nobody has changed."""
    session = a_session(world)
    session.arm({Role.MAIN})
    module = importlib.import_module("up.mod")
    assert session.patches_on(module, "function") == ["p"]
    assert session.patches_on(module, "__name__") == []
    assert session.patches_on(vars(module), SimpleNamespace(key="function")) == ["p"]
    assert session.patches_on(vars(module), SimpleNamespace(key="__name__")) == []
