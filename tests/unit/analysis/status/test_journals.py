from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.status import read_directory
from patchkit.analysis.status.journals import parse_journal
from patchkit.runtime.process.journal import Journal, process_facts

from .told import NOW, PATCHES, armed, child, line, patch, role

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.analysis.status.process_status import ProcessStatus

NAME = "node-7-1800000000000000000.jsonl"
COMPLETE = b"".join(
    [
        armed(7, roles={"one": ["main"], "two": ["worker"]}),
        role("main"),
        patch("one", "applied"),
        patch("two", "failed", "ValueError: no"),
        line("rank", rank=3),
        line("digest", role="main", digest="abc"),
        line("disagreement", role="main", reason="other patches"),
        child(8, "EngineCore", "engine-core", 1),
        line("full"),
    ]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)
EVENTS = st.sampled_from(
    [
        "armed",
        "role",
        "become",
        "patch",
        "rank",
        "digest",
        "disagreement",
        "child",
        "full",
        "wrapped",
        "overwritten",
        "unreviewed",
    ]
)
OF_PROCESS = (
    "host",
    "pid",
    "ppid",
    "argv",
    "began",
    "asked_by",
    "forked",
    "patches",
    "roles",
)
OF_OTHERS = (
    "role",
    "name",
    "status",
    "reason",
    "rank",
    "digest",
    "child",
    "inherited",
    "time",
)
OF_COPIES = ("module", "rebound", "out_of_reach", "layers", "untraced", "target", "by")
FIELDS = st.sampled_from((*OF_PROCESS, *OF_OTHERS, *OF_COPIES))


def parsed(data: bytes) -> ProcessStatus:
    """The process of a journal that holds one."""
    process = parse_journal(NAME, data)
    assert process is not None
    return process


def known_of(process: ProcessStatus) -> dict[str, Any]:
    """All that is known of a process, as JSON, to compare; a NaN in it would be an error."""
    return json.loads(json.dumps(vars(process), default=vars, allow_nan=False))


def test_a_journal_is_read() -> None:
    """Each entry that a journal may have becomes a fact about its process."""
    process = parsed(COMPLETE)
    assert (process.host, process.pid, process.ppid, process.began) == ("node", 7, 1, 7)
    assert (process.argv, process.started, process.rank) == (["script.py"], NOW, 3)
    assert process.roles == ["main"]
    first, second = process.patches.values()
    assert (first.status, first.reason, first.roles) == ("applied", "", ("main",))
    assert (second.status, second.reason, second.roles) == (
        "failed",
        "ValueError: no",
        ("worker",),
    )
    assert process.digest == "abc"
    assert process.disagreements == {"main": "other patches"}
    assert [(child.pid, child.name, child.role) for child in process.children] == [
        (8, "EngineCore", "engine-core")
    ]
    assert process.is_cut


def test_what_the_journal_writes_is_read(tmp_path: Path) -> None:
    """What `Journal` writes is read back as the facts of this process."""
    journal = Journal(str(tmp_path))
    journal.write("armed", patches=["one"], roles={"one": ["main"]}, **process_facts())
    journal.write("role", role="main")
    (process,) = read_directory(tmp_path)
    facts = process_facts()
    assert (process.host, process.ppid, process.argv) == (
        facts["host"],
        facts["ppid"],
        facts["argv"],
    )
    assert (process.began, process.roles) == (facts["began"], ["main"])


@given(cut=st.integers(0, len(COMPLETE)))
def test_a_journal_that_is_torn_at_any_byte(cut: int) -> None:
    """A torn journal says what its complete lines say, and whose it is."""
    torn = COMPLETE[:cut]
    process = parse_journal(NAME, torn)
    if not torn:
        assert process is None
        return
    # The last line is complete where only its line end is missing.
    lines = torn.split(b"\n")
    complete_lines = (
        lines if lines[-1].endswith(b"}") and is_json(lines[-1]) else lines[:-1]
    )
    assert process is not None
    assert known_of(process) == known_of(parsed(b"\n".join(complete_lines) or b"\n"))


def is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@given(at=st.integers(0, len(COMPLETE)), garbage=st.binary(min_size=1, max_size=40))
def test_a_journal_with_garbage_at_any_byte(at: int, garbage: bytes) -> None:
    """A journal with garbage is read, and what it says can be written as JSON."""
    known_of(parsed(COMPLETE[:at] + garbage + COMPLETE[at:]))


@given(
    st.lists(
        st.tuples(EVENTS, st.dictionaries(FIELDS, ANY_JSON, max_size=5)), max_size=6
    )
)
def test_entries_with_any_value_in_any_field(
    entries: list[tuple[str, dict[str, Any]]],
) -> None:
    """Entries with any value in any field are read, and what they say can be written as JSON."""
    lines = [
        json.dumps({**fields, "event": event}).encode() for event, fields in entries
    ]
    process = parsed(armed(7) + b"\n".join(lines))
    known_of(process)
    assert isinstance(process.digest, (str, type(None)))


@pytest.mark.parametrize(
    "stranger",
    [
        b"[" * 100_000,
        b"{" + b'"a":{' * 100_000,
        b"NaN",
        b"7" * 5_000,
        b'{"event": "armed"}',
    ],
)
def test_lines_that_are_no_entries_are_passed_over(stranger: bytes) -> None:
    """A line that is no entry is passed over, and what follows it is read."""
    assert parsed(armed(7) + stranger + b"\n" + role("main")).roles == ["main"]


@pytest.mark.parametrize(
    "moment", ["1e999", "NaN", "1" + "0" * 400, '"soon"', "true", "null"]
)
def test_values_that_are_no_time(moment: str) -> None:
    """A value that is no time is read as 0, or `true` as 1: it can be sorted by and written."""
    data = armed(7).replace(str(NOW).encode(), moment.encode())
    assert parsed(data).started in (0, 1)


def test_the_name_of_the_file_says_whose_it_is() -> None:
    """If the first line is torn, host, pid and start are those in the name of the file."""
    process = parse_journal("my-node-7-1800000000000000000.jsonl", b'{"event":"arm')
    assert process is not None
    assert (process.host, process.pid, process.started) == ("my-node", 7, NOW)
    assert parse_journal("notes.jsonl", COMPLETE[: COMPLETE.index(b"\n") - 5]) is None


def test_a_journal_without_its_first_entry_is_noticed() -> None:
    """A file whose beginning is gone does not say which patches there were."""
    name = "my-node-7-1800000000000000000.jsonl"
    for data, lacks_start in (
        (COMPLETE, False),
        (b'{"event":"arm', True),
        (COMPLETE[COMPLETE.index(b"\n") + 1 :], True),
        (COMPLETE[5:], True),
    ):
        process = parse_journal(name, data)
        assert process is not None
        assert process.lacks_start is lacks_start


def test_a_fork_keeps_its_roles_until_it_becomes_something_else() -> None:
    """A fork is a copy with the roles that it inherited, until it takes roles of its own."""
    inherited = armed(7, forked=True) + role("main", inherited=True)
    inherited += patch("one", "applied", inherited=True)
    assert parsed(inherited).is_copy
    assert parsed(inherited).roles == ["main"]
    became = parsed(inherited + line("become", roles=["worker"]) + role("worker"))
    assert became.roles == ["worker"]
    assert not became.is_copy


def test_what_an_armed_patch_waits_for() -> None:
    """An armed patch waits for what the journal says, or else for an import of its target."""
    rows = armed(7, roles={"one": ["main"], "two": ["main"]})
    waiting = patch(
        "two", "armed", "waits for required patch one, which failed meanwhile"
    )
    process = parsed(rows + role("main") + waiting)
    assert [process.stand(process.patches[name]) for name in PATCHES] == [
        ("armed", "no import of its target has been seen"),
        ("armed", "waits for required patch one, which failed meanwhile"),
    ]


def test_what_is_not_for_a_process_is_skipped() -> None:
    """A patch of another role is skipped, and one whose requirement is unmet by the last entry."""
    rows = armed(7, patches=["one", "two"], roles={"one": ["worker"], "two": ["main"]})
    unmet = line("unmet", reasons={"two": "ray is not installed"})
    process = parsed(rows + role("main") + unmet)
    assert [process.stand(status) for status in process.patches.values()] == [
        ("skipped", "for worker"),
        ("skipped", "ray is not installed"),
    ]
    process = parsed(rows + role("main") + unmet + line("unmet", reasons={}))
    assert process.stand(process.patches["two"])[0] == "armed"


def test_a_process_without_a_role_has_skipped_nothing() -> None:
    """Before a process enters a role, a patch of any role is armed."""
    process = parsed(armed(7, roles={"one": ["worker"]}))
    stand = process.stand(process.patches["one"])
    assert stand == ("armed", "the process has not entered a role")


def test_a_fork_was_not_asked_for_by_ray() -> None:
    """A fork has no `asked_by`, though it inherits that of the process it was forked from."""
    assert parsed(armed(7, asked_by="node:1")).asked_by == "node:1"
    assert parsed(armed(7, asked_by="node:1", forked=True)).asked_by is None


def test_equal_digests_mean_equal_patches() -> None:
    """A digest covers all roles in any order, or else what is applied."""
    main = line("digest", role="main", digest="abc")
    worker = line("digest", role="worker", digest="def")
    assert (
        parsed(armed(7) + main + worker).digest
        == parsed(armed(8) + worker + main).digest
    )
    assert parsed(armed(7) + main + worker).digest != parsed(armed(7) + main).digest
    applied = [
        parsed(armed(7) + role("main") + patch(name, "applied")) for name in PATCHES
    ]
    assert applied[0].digest != applied[1].digest
    assert parsed(armed(7)).digest is None


def test_a_folder_named_like_a_journal_is_passed_over(tmp_path: Path) -> None:
    """A folder that has the name of a journal is no process."""
    (tmp_path / NAME).mkdir()
    assert read_directory(tmp_path) == []


# -- copies and neighbours -------------------------------------------------------------------------


def applied(name: str, module: str, **fields: Any) -> bytes:
    """The entry of a patch that is applied in a module."""
    return patch(name, "applied", module=module, **fields)


def test_copies_of_several_modules_are_together() -> None:
    """Copies of all modules of a patch are joined; a module that was applied anew counts once."""
    process = parsed(
        armed(7)
        + applied(
            "one", "m", rebound=["a:f"], out_of_reach=["b:f"], layers={"m:f": ["one"]}
        )
        + applied("one", "m", rebound=["a:f", "c:f"], layers={"m:f": ["one"]})
        + applied(
            "one",
            "n",
            rebound=["d:g"],
            untraced={"n:K": "a int"},
            layers={"n:K": ["one"]},
        )
    )
    status = process.patches["one"]
    assert status.rebound == ["a:f", "c:f", "d:g"]
    assert status.out_of_reach == []
    assert status.untraced == {"n:K": "a int"}
    assert status.targets == ["m:f", "n:K"]


def test_layers_are_those_of_the_last_entry() -> None:
    """The last entry sets the layers of a target, and a patch that is undone is in none."""
    first = applied("two", "m", layers={"m:f": ["two"]})
    both = applied("one", "m", layers={"m:f": ["one", "two"]})
    assert parsed(armed(7) + first + both).layers == {"m:f": ["one", "two"]}
    undone = parsed(armed(7) + first + both + patch("two", "skipped", "undone"))
    assert undone.layers == {"m:f": ["one"]}
    assert undone.patches["two"].rebound == []


def test_who_hides_a_patch_is_that_of_the_last_entry() -> None:
    """The last entry says which patch hides this one, and of a malformed one nothing is taken."""
    hidden = applied("one", "m", layers={"m:f": []}, hidden={"m:f": {"one": "two"}})
    shown = applied("one", "m", layers={"m:f": []}, hidden={})
    odd = applied("one", "m", hidden={"m:f": ["two"], "m:g": {"one": 1}, "m:h": {}})
    assert parsed(armed(7) + hidden).patches["one"].hidden == {"m:f": "two"}
    assert parsed(armed(7) + hidden + shown).patches["one"].hidden == {}
    assert parsed(armed(7) + odd).patches["one"].hidden == {}


def test_neighbours_are_noted() -> None:
    """A patch notes who wraps its target, and who has overwritten a copy of it."""
    process = parsed(
        armed(7)
        + applied("one", "m", layers={"m:f": ["one"]})
        + line("wrapped", name="one", target="m:f", by="them")
        + line("overwritten", name="one", target="a.f", by="others")
        + line("overwritten", name="nobody", target="a.f", by="others")
    )
    strangers = [
        (stranger.target, stranger.by, stranger.wraps)
        for stranger in process.patches["one"].strangers
    ]
    assert strangers == [("m:f", "them", True), ("a.f", "others", False)]


def test_what_was_not_reviewed_is_noted() -> None:
    """An unreviewed target is noted whatever becomes of its patch; an unknown patch is ignored."""
    unreviewed = line("unreviewed", name="one", reason="f has another source")
    for later in (
        b"",
        patch("one", "applied"),
        patch("one", "failed", "ValueError: no"),
    ):
        unknown = line("unreviewed", name="three", reason="x")
        process = parsed(armed(7) + unreviewed + unknown + later)
        assert process.patches["one"].unreviewed == "f has another source"
        assert process.patches["two"].unreviewed == ""
        assert set(process.patches) == set(PATCHES)
