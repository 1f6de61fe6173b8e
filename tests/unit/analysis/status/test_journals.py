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
WHOLE = b"".join(
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
        *(
            "armed",
            "role",
            "become",
            "patch",
            "rank",
            "digest",
            "disagreement",
            "child",
            "full",
        ),
        *("wrapped", "overwritten", "unreviewed"),
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


def told(process: ProcessStatus) -> dict[str, Any]:
    """All that is known of a process, to compare; a NaN would be no equal of itself."""
    return json.loads(json.dumps(vars(process), default=vars, allow_nan=False))


def test_a_journal_is_read() -> None:
    """Every entry that the writer makes has its place."""
    process = parsed(WHOLE)
    assert (process.host, process.pid, process.ppid, process.began) == ("node", 7, 1, 7)
    assert (process.argv, process.started, process.rank) == (["script.py"], NOW, 3)
    assert process.roles == ["main"]
    one, two = process.patches.values()
    assert (one.status, one.reason, one.roles) == ("applied", "", ("main",))
    assert (two.status, two.reason, two.roles) == (
        "failed",
        "ValueError: no",
        ("worker",),
    )
    assert process.digest == "abc"
    assert process.disagreements == {"main": "other patches"}
    assert [(one.pid, one.name, one.role) for one in process.children] == [
        (8, "EngineCore", "engine-core")
    ]
    assert process.is_cut


def test_what_the_journal_writes_is_read(tmp_path: Path) -> None:
    """Writer and reader know the same words."""
    journal = Journal(str(tmp_path))
    journal.write("armed", patches=["one"], roles={"one": ["main"]}, **process_facts())
    journal.write("role", role="main")
    (found,) = read_directory(tmp_path)
    facts = process_facts()
    assert (found.host, found.ppid, found.argv) == (
        facts["host"],
        facts["ppid"],
        facts["argv"],
    )
    assert (found.began, found.roles) == (facts["began"], ["main"])


@given(cut=st.integers(0, len(WHOLE)))
def test_torn_at_any_byte(cut: int) -> None:
    """A torn journal says what its whole lines say, and whose it is."""
    torn = WHOLE[:cut]
    process = parse_journal(NAME, torn)
    if not torn:
        assert process is None
        return
    # The last line is whole where only its end is missing.
    lines = torn.split(b"\n")
    kept = lines if lines[-1].endswith(b"}") and is_json(lines[-1]) else lines[:-1]
    assert process is not None
    assert told(process) == told(parsed(b"\n".join(kept) or b"\n"))


def is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@given(at=st.integers(0, len(WHOLE)), garbage=st.binary(min_size=1, max_size=40))
def test_garbage_at_any_byte(at: int, garbage: bytes) -> None:
    """The reader goes on, and what it says can be written as JSON."""
    told(parsed(WHOLE[:at] + garbage + WHOLE[at:]))


@given(
    st.lists(
        st.tuples(EVENTS, st.dictionaries(FIELDS, ANY_JSON, max_size=5)), max_size=6
    )
)
def test_entries_of_strangers(entries: list[tuple[str, dict[str, Any]]]) -> None:
    """Any value may stand in any field."""
    lines = [
        json.dumps({**fields, "event": event}).encode() for event, fields in entries
    ]
    process = parsed(armed(7) + b"\n".join(lines))
    told(process)
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
def test_lines_that_are_no_entries(stranger: bytes) -> None:
    """They are passed over; what follows is read."""
    assert parsed(armed(7) + stranger + b"\n" + role("main")).roles == ["main"]


@pytest.mark.parametrize(
    "moment", ["1e999", "NaN", "1" + "0" * 400, '"soon"', "true", "null"]
)
def test_times_that_are_none(moment: str) -> None:
    """A time that cannot be one is 0: it can be sorted by, and written as JSON."""
    data = armed(7).replace(str(NOW).encode(), moment.encode())
    assert parsed(data).started in (0, 1)


def test_the_name_of_the_file_says_whose_it_is() -> None:
    """Where the first line is torn; a host may have dashes in its name."""
    process = parse_journal("my-node-7-1800000000000000000.jsonl", b'{"event":"arm')
    assert process is not None
    assert (process.host, process.pid, process.started) == ("my-node", 7, NOW)
    assert parse_journal("notes.jsonl", WHOLE[: WHOLE.index(b"\n") - 5]) is None


def test_a_fork_takes_roles_anew() -> None:
    """What it inherited it may keep, until it becomes something else."""
    inherited = armed(7, forked=True) + role("main", inherited=True)
    inherited += patch("one", "applied", inherited=True)
    assert parsed(inherited).is_copy
    assert parsed(inherited).roles == ["main"]
    became = parsed(inherited + line("become", roles=["worker"]) + role("worker"))
    assert became.roles == ["worker"]
    assert not became.is_copy


def test_what_an_armed_patch_waits_for() -> None:
    """What the journal says, or else its target."""
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
    """Another role's patch, and one whose requirement is not met, as the process said last."""
    rows = armed(7, patches=["one", "two"], roles={"one": ["worker"], "two": ["main"]})
    told = line("unmet", reasons={"two": "ray is not installed"})
    process = parsed(rows + role("main") + told)
    assert [process.stand(one) for one in process.patches.values()] == [
        ("skipped", "for worker"),
        ("skipped", "ray is not installed"),
    ]
    process = parsed(rows + role("main") + told + line("unmet", reasons={}))
    assert process.stand(process.patches["two"])[0] == "armed"


def test_a_process_without_a_role_has_skipped_nothing() -> None:
    """It may enter any role yet."""
    process = parsed(armed(7, roles={"one": ["worker"]}))
    stand = process.stand(process.patches["one"])
    assert stand == ("armed", "the process has not entered a role")


def test_a_fork_was_not_asked_for_by_ray() -> None:
    """It inherits the answer of the worker process that it was forked from."""
    assert parsed(armed(7, asked_by="node:1")).asked_by == "node:1"
    assert parsed(armed(7, asked_by="node:1", forked=True)).asked_by is None


def test_equal_digests_mean_equal_patches() -> None:
    """Of several roles together, and of what is applied where no engine was configured."""
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


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """A folder with the name of a journal is none."""
    (tmp_path / NAME).mkdir()
    assert read_directory(tmp_path) == []


# -- copies and neighbours -------------------------------------------------------------------------


def applied(name: str, module: str, **fields: Any) -> bytes:
    return patch(name, "applied", module=module, **fields)


def test_copies_of_several_modules_are_together() -> None:
    """Each module of a patch has an entry; one that was applied anew counts once."""
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
    one = process.patches["one"]
    assert one.rebound == ["a:f", "c:f", "d:g"]
    assert one.out_of_reach == []
    assert one.untraced == {"n:K": "a int"}
    assert one.targets == ["m:f", "n:K"]


def test_layers_are_those_of_the_last_entry() -> None:
    """Whoever comes later tells the order anew, and whoever goes is gone."""
    first = applied("two", "m", layers={"m:f": ["two"]})
    both = applied("one", "m", layers={"m:f": ["one", "two"]})
    assert parsed(armed(7) + first + both).layers == {"m:f": ["one", "two"]}
    gone = parsed(armed(7) + first + both + patch("two", "skipped", "undone"))
    assert gone.layers == {"m:f": ["one"]}
    assert gone.patches["two"].rebound == []


def test_neighbours_are_noted() -> None:
    """Who wraps, and who has overwritten."""
    process = parsed(
        armed(7)
        + applied("one", "m", layers={"m:f": ["one"]})
        + line("wrapped", name="one", target="m:f", by="them")
        + line("overwritten", name="one", target="a.f", by="others")
        + line("overwritten", name="nobody", target="a.f", by="others")
    )
    found = [
        (one.target, one.by, one.wraps) for one in process.patches["one"].strangers
    ]
    assert found == [("m:f", "them", True), ("a.f", "others", False)]


def test_what_was_not_reviewed_is_noted() -> None:
    """Whatever becomes of the patch; of a patch that nobody knows nothing is."""
    told = line("unreviewed", name="one", reason="f has another source")
    for after in (
        b"",
        patch("one", "applied"),
        patch("one", "failed", "ValueError: no"),
    ):
        process = parsed(
            armed(7) + told + line("unreviewed", name="three", reason="x") + after
        )
        assert process.patches["one"].unreviewed == "f has another source"
        assert process.patches["two"].unreviewed == ""
        assert set(process.patches) == set(PATCHES)
