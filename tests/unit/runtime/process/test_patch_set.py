from __future__ import annotations

import importlib
import json
import os
import sys
import time
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
    """Return a session over upstream and a pack whose rows share one body."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(*(rows or (row("p", "patch_a", REPLACE, roles=BOTH),)), patch_a=body)
    return world.session(**settings)


def a_config(**fields: Any) -> Any:
    """Return what patchkit knows of `VllmConfig`."""
    return SimpleNamespace(additional_config=fields)


def digests(session: Session) -> dict[str, str]:
    """The digest of each role that the session has written to its journal."""
    entries = [entry for entry in session.journal.entries if entry["event"] == "digest"]
    return {entry["role"]: entry["digest"] for entry in entries}


def test_a_worker_with_the_same_set_agrees(world: World) -> None:
    """A worker with the same pack and settings as main agrees, and has the same digest."""
    config = a_config(other=1)
    session = a_session(world)
    session.exchange_digests([Role.MAIN], [config])
    session.exchange_digests([Role.WORKER], [config])
    assert config.additional_config["other"] == 1
    assert set(config.additional_config["patchkit"]["worker"]) == {"p"}
    assert digests(session)["main"] == digests(session)["worker"]


def test_a_worker_that_leaves_a_patch_out_is_stopped(world: World) -> None:
    """The worker's error names the patch, both sets and the node."""
    config = a_config()
    a_session(world).exchange_digests([Role.MAIN], [config])
    worker = world.session(disabled=("p",))
    with pytest.raises(
        AgreementError, match=r"p only in the main process.*selects p .*nothing"
    ) as caught:
        worker.exchange_digests([Role.WORKER], [config])
    assert os.uname().nodename in str(caught.value)
    assert worker.journal.entries[-1]["event"] == "disagreement"


def test_a_worker_with_one_more_patch_is_stopped(world: World) -> None:
    """A worker raises where it has a patch that the main process has disabled."""
    config = a_config()
    a_session(world, disabled=("p",)).exchange_digests([Role.MAIN], [config])
    with pytest.raises(AgreementError, match="p only here"):
        world.session().exchange_digests([Role.WORKER], [config])


def test_other_code_under_the_same_name_is_stopped(world: World) -> None:
    """A worker raises where the body of a patch has other bytes than that of the main process."""
    config = a_config()
    a_session(world).exchange_digests([Role.MAIN], [config])
    world.module("pack.patch_a", BODY + "# another\n")
    with pytest.raises(AgreementError, match="p has other code here"):
        world.session().exchange_digests([Role.WORKER], [config])


def test_the_order_of_requires_and_rebind_does_not_count(world: World) -> None:
    """Two changes that differ only in the order of `requires` or `rebind` have one fingerprint."""
    change = "Replace('up.mod:function', by='function', requires={}, rebind={})"
    forwards = change.format("('up>=1', 'up<9')", "('a', 'b')")
    backwards = change.format("('up<9', 'up>=1')", "('b', 'a')")
    session = a_session(world, row("p", "patch_a", forwards, roles=BOTH))
    first = session.states["p"].row
    world.pack(row("p", "patch_a", backwards, roles=BOTH), name="other", patch_a=BODY)
    second = world.session("other").states["p"].row
    assert vars(first.patch.changes[0]) != vars(second.patch.changes[0])
    assert fingerprint(first) == fingerprint(second)


def test_the_order_in_sets_does_not_count_and_its_targets_do(world: World) -> None:
    """A call that sets another target is another patch."""
    change = "AfterImport('up.mod', call='function', sets={})"
    fingerprints = []
    for number, sets in enumerate(
        ("{'up.mod:f', 'up.mod:g'}", "('up.mod:g', 'up.mod:f')", "('up.mod:f',)")
    ):
        name = f"pack{number}"
        world.pack(row("p", "patch_a", change.format(sets)), name=name, patch_a=BODY)
        fingerprints.append(fingerprint(world.session(name).states["p"].row))
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]


def test_warn_lets_a_worker_that_disagrees_go_on(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """With PATCHKIT_ON_FAILURE=warn, a disagreement is a warning on stderr."""
    config = a_config()
    a_session(world).exchange_digests([Role.MAIN], [config])
    world.session(disabled=("p",), on_failure="warn").exchange_digests(
        [Role.WORKER], [config]
    )
    assert "p only in the main process" in capsys.readouterr().err


def test_a_when_that_main_has_not_asked_is_open(world: World) -> None:
    """A worker may leave out a patch whose `when` the main process has not asked."""
    config = a_config()
    rows = (row("p", "patch_a", REPLACE, roles="{Role.WORKER}", when="'when'"),)
    a_session(world, *rows).exchange_digests([Role.MAIN], [config])
    world.session(disabled=("p",)).exchange_digests([Role.WORKER], [config])


def test_a_when_is_open_until_a_group_is_applied(world: World) -> None:
    """The stamp of main marks a row whose `when` was not asked, and no other."""
    rows = (
        row("asked", "patch_a", REPLACE, when="'when'"),
        row("none", "patch_a", "Replace('up.late:function', by='function')"),
        row(
            "open",
            "patch_a",
            "Replace('up.late:function', by='function')",
            when="'when'",
        ),
    )
    session = a_session(world, *rows)
    session.arm({Role.MAIN})
    importlib.import_module("up.mod")
    states = session.states.values()
    patches = patch_sets.patch_set(states, session._table, Role.MAIN)
    assert [name for name, each in patches.items() if each.is_open] == ["open"]


def test_a_worker_goes_on_without_a_stamp(world: World) -> None:
    """A worker agrees with a configuration that the main process has not stamped."""
    a_session(world).exchange_digests([Role.WORKER], [a_config()])


@pytest.mark.parametrize("extra", [object(), None])
def test_a_place_for_the_stamp(world: World, extra: object) -> None:
    """The stamp makes a dict of an `additional_config` that is None, and leaves an object alone."""
    config = SimpleNamespace(additional_config=extra)
    session = a_session(world)
    session.exchange_digests([Role.MAIN], [config])
    is_stamped = isinstance(config.additional_config, dict)
    assert is_stamped is (extra is None)
    session.exchange_digests([Role.WORKER], [config])


def test_digests_are_equal_for_equal_sets_only() -> None:
    """Names, order and code count in a digest; an open `when` and ranks as such do not."""
    patches = {"a": PatchDigest(0, "1", "2"), "b": PatchDigest(1, "3", "2")}
    same = {"b": PatchDigest(7, "3", "2", is_open=True), "a": PatchDigest(5, "1", "2")}
    assert patch_sets.digest(patches) == patch_sets.digest(same)
    others: list[dict[str, PatchDigest]] = [
        {},
        {"a": patches["a"]},
        {"a": patches["a"], "b": PatchDigest(1, "4", "2")},
        {"a": patches["a"], "b": PatchDigest(1, "3", "9")},
        {"b": PatchDigest(0, "3", "2"), "a": PatchDigest(1, "1", "2")},
    ]
    other_digests = [patch_sets.digest(other) for other in others]
    assert patch_sets.digest(patches) not in other_digests


# -- what decides ---------------------------------------------------------------------------------


TWO_ROWS = (
    row("p", "patch_a", REPLACE, roles=BOTH),
    row("q", "patch_a", "Add('up.mod:more', by='when')", roles=BOTH),
)


def disagreement(world: World, config: Any) -> str:
    """Return the error of a worker that starts now and disagrees."""
    with pytest.raises(AgreementError) as caught:
        world.session().exchange_digests([Role.WORKER], [config])
    return str(caught.value)


@pytest.mark.parametrize("module", ["pack.helpers", "pack.inner.deep", "pack.patch_b"])
def test_a_helper_module_of_the_pack_counts(world: World, module: str) -> None:
    """A worker disagrees where any module of the pack has changed; none is imported to tell."""
    for name in ("pack.helpers", "pack.inner.deep"):
        world.module(name, "raise AssertionError('a helper was imported')")
    world.pack(row("other", "patch_b", "Wrap('up.b:f', by='f')"), patch_b="")
    config = a_config()
    rows = (*TWO_ROWS, row("other", "patch_b", "Wrap('up.b:f', by='f')"))
    a_session(world, *rows).exchange_digests([Role.MAIN], [config])
    world.module(module, "changed = True")
    text = disagreement(world, config)
    assert "p has another module in its pack here; q has another module" in text


def test_a_data_file_counts(world: World) -> None:
    """A worker disagrees where a file has changed that the row names in `data`."""
    (world.folder / "pack").mkdir()
    table = world.folder / "pack" / "table.json"
    table.write_text("[1]")
    config = a_config()
    with_data = row("p", "patch_a", REPLACE, roles=BOTH, data="('table.json',)")
    a_session(world, with_data).exchange_digests([Role.MAIN], [config])
    world.session().exchange_digests([Role.WORKER], [config])
    table.write_text("[2]")
    assert "p has other code here" in disagreement(world, config)


def test_a_file_that_changed_on_disk_is_named(world: World) -> None:
    """A worker names the file of the pack that was changed last, and when: whoever edits a body
    while an engine starts has the same packs and versions on every node.
    """
    config = a_config()
    a_session(world).exchange_digests([Role.MAIN], [config])
    file = world.module("pack.patch_a", BODY + "# edited meanwhile\n")
    os.utime(file, (2_000_000_000, 2_000_000_000))
    text = disagreement(world, config)
    changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(2_000_000_000))
    assert f"the file that was changed last is {file}, at {changed}" in text
    assert "restart the engine" in text


def test_no_file_is_named_where_the_code_is_the_same(world: World) -> None:
    """Other patches on one node are no matter of a file that changed."""
    config = a_config()
    a_session(world).exchange_digests([Role.MAIN], [config])
    with pytest.raises(AgreementError) as caught:
        world.session(disabled=("p",)).exchange_digests([Role.WORKER], [config])
    assert "changed last" not in str(caught.value)


def test_the_order_of_rows_counts(world: World) -> None:
    """A worker disagrees where its rows apply in another order."""
    config = a_config()
    a_session(world, *TWO_ROWS).exchange_digests([Role.MAIN], [config])
    del sys.modules["pack"]
    a_session(world, *reversed(TWO_ROWS))
    assert "they apply in the order q, p here, not p, q" in disagreement(world, config)


def test_the_order_of_packs_counts(world: World) -> None:
    """A worker disagrees where its packs are named in another order; the cache key differs too."""
    config = a_config()
    a_session(world)
    world.pack(row("q", "patch_b", REPLACE, roles=BOTH), name="second", patch_b=BODY)
    world.session("pack", "second").exchange_digests([Role.MAIN], [config])
    world.session("pack", "second").exchange_digests([Role.WORKER], [config])
    other_config = a_config()
    world.session("second", "pack").exchange_digests([Role.MAIN], [other_config])
    assert key_of(config) != key_of(other_config)
    with pytest.raises(AgreementError, match="they apply in the order q, p here"):
        world.session("second", "pack").exchange_digests([Role.WORKER], [config])


def test_patchkits_own_version_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker disagrees where its patchkit has another version; key and digest differ, too."""
    config = a_config()
    other_config = a_config()
    session = a_session(world)
    session.exchange_digests([Role.MAIN], [config])
    before = digests(session)
    monkeypatch.setattr("patchkit.__version__", "99.0")
    text = disagreement(world, config)
    assert "runs patchkit 99.0, and the main process 0." in text
    session.exchange_digests([Role.MAIN], [other_config])
    assert key_of(config) != key_of(other_config)
    assert digests(session) != before
    del config.additional_config["patchkit"]["version"]
    assert "the main process an earlier one" in disagreement(world, config)


def key_of(config: Any) -> str:
    """Return the text from which vLLM makes its cache key."""
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
    current().exchange_digests([Role.WORKER], [config])
    answers.put("agreed")
if __name__ == "__main__":
    config = SimpleNamespace(additional_config={})
    current().exchange_digests([Role.MAIN], [config])
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=agree, args=(config, answers), name="VllmWorker-0")
    child.start()
    answer = answers.get(timeout=20) if child.join(20) or not child.exitcode else "stopped"
    entries = current().journal.entries
    digests = [entry["digest"] for entry in entries if entry["event"] == "digest"]
    print(json.dumps([answer, config.additional_config, digests]))
"""


@pytest.mark.processes
def test_values_are_the_same_in_every_process(world: World) -> None:
    """With any hash seed, a spawned worker agrees, and cache key and digest are the same."""
    fields = [
        f'AddField("up.mod:Config", "extra{number}", "object", {default}),'
        for number, default in enumerate(DEFAULTS)
    ]
    world.module("up.mod", "class Config: ...")
    world.module("pack.__init__", FIELD_PACK.format(changes="".join(fields)))
    seeds = ("0", "1", "random")
    answers = [world.script(SPAWN, PYTHONHASHSEED=seed) for seed in seeds]
    assert answers[0][0] == "agreed"
    assert all(answer == answers[0] for answer in answers)


def test_a_pack_in_an_archive_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker disagrees where a module of a pack in an archive has changed."""
    config = a_config()
    a_session(world)
    archive = world.folder / "packs.zip"

    def zipped(helper: str) -> Session:
        """Write the pack and a helper module to the archive, and return a session of it."""
        with zipfile.ZipFile(archive, "w") as file:
            for module in (world.folder / "pack").glob("*.py"):
                file.write(module, f"zipped/{module.name}")
            file.writestr("zipped/helper.py", helper)
        sys.modules.pop("zipped", None)
        return world.session("zipped")

    monkeypatch.syspath_prepend(str(archive))
    zipped("ONE = 1").exchange_digests([Role.MAIN], [config])
    zipped("ONE = 1").exchange_digests([Role.WORKER], [config])
    with pytest.raises(AgreementError, match="p has another module in its pack here"):
        zipped("ONE = 2").exchange_digests([Role.WORKER], [config])


def test_a_part_of_a_pack_that_is_a_link_counts(world: World) -> None:
    """A worker disagrees where a module behind a link in the pack has changed.

    A link that leads back ends the walk.
    """
    a_session(world)
    elsewhere = world.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "helper.py").write_text("ONE = 1")
    (world.folder / "pack" / "linked").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(world.folder / "pack")
    config = a_config()
    world.session().exchange_digests([Role.MAIN], [config])
    world.session().exchange_digests([Role.WORKER], [config])
    (elsewhere / "helper.py").write_text("ONE = 2")
    with pytest.raises(AgreementError, match="p has another module in its pack here"):
        world.session().exchange_digests([Role.WORKER], [config])


def test_the_stamp_has_patches_that_are_applied_or_may_be(world: World) -> None:
    """The stamp names applied and waiting patches, not those that failed or are unmet."""
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
    session.exchange_digests([Role.MAIN], [config])
    (stamp,) = config.additional_config.values()
    assert list(stamp["main"]) == ["applied", "waits"]


def test_a_stamp_writes_which_patches_are_unmet(world: World) -> None:
    """When main stamps, its journal says which patches are for other versions."""
    session = a_session(world, row("p", "patch_a", REPLACE, requires="('up>=2',)"))
    session.arm({Role.MAIN})
    session.exchange_digests([Role.MAIN], [a_config()])
    entries = session.journal.entries
    (unmet,) = [entry for entry in entries if entry["event"] == "unmet"]
    assert unmet["reasons"] == {"p": "up 1.0 is outside >=2"}


def test_which_patches_lie_on_an_attribute(world: World) -> None:
    """`patches_on` names the patches of an attribute or item, or none where nothing has changed."""
    session = a_session(world)
    session.arm({Role.MAIN})
    module = importlib.import_module("up.mod")
    assert session.patches_on(module, "function") == ["p"]
    assert session.patches_on(module, "__name__") == []
    assert session.patches_on(vars(module), SimpleNamespace(key="function")) == ["p"]
    assert session.patches_on(vars(module), SimpleNamespace(key="__name__")) == []
