from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import (
    Memory,
    broken,
    checked,
    codes,
    edit,
    files_of,
    only_finding,
    subject,
)
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.lock.format import Lock, Span
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from support.packages import World

REPLACE = "Replace('up.mod:f', by='g')"
WRAP = "Wrap('up.mod:f', by='w')"
MADE = "class C(metaclass=M): ..."
FIELD = "Replace('up.mod:C.x', by='N')"
HOOK = "Wrap('up.mod:C.__init__', by='w')"
SETS = "AfterImport('up.mod', call='g', sets=('up.mod:f',))"
SETS_FIELD = "AfterImport('up.mod', call='g', sets=('up.mod:C.x',))"
ADD_SLOTS = "Add('up.mod:C.__slots__', by='N')"
ADD_HOOK = "Add('up.mod:C.__post_init__', by='g')"
IMPORTS = "import attrs, dataclasses, enum, msgspec, typing\n"
BODY = "def g(a, b=1): return a\ndef w(wrapped, instance, args, kwargs): ...\nN = 3\n"


@pytest.mark.parametrize(
    ("change", "mod", "expected"),
    [
        (REPLACE, "def f(a, b=1): ...", []),
        (REPLACE, "def f(a): ...", []),
        (REPLACE, "def other(): ...", ["PK101"]),
        (REPLACE, "def f(a, b=1, c=2): ...", ["PK103"]),
        (REPLACE, "def f(x, b=1): ...", ["PK103"]),
        (REPLACE, "def f(a, b=1, *rest): ...", ["PK103"]),
        (REPLACE, "def f(a, b=1, **more): ...", ["PK103"]),
        (REPLACE, "class f: ...", ["PK102"]),
        (REPLACE, "globals().update(x())", ["PK104"]),
        (REPLACE, "def f(a, b=1):\n    '''Same.'''\n    return a", ["PK122"]),
        (WRAP, "def f(a, b=1, c=2): ...", []),
        (WRAP, "f = 3", ["PK102"]),
        (WRAP, "class f: ...", ["PK102"]),
        ("Wrap('up.mod:f', by='g')", "def f(): ...", ["PK103"]),
        ("Wrap('up.mod:f', by='N')", "def f(): ...", ["PK102"]),
        ("Replace('up.mod:C', by='Sub')", "class C: ...", []),
        ("Replace('up.mod:C', by='g')", "class C: ...", ["PK102"]),
        ("Replace('up.mod:C', by='Loose')", "class C: ...", ["PK102"]),
        ("Replace('up.mod:C', by='Loose', unrelated=True)", "class C: ...", []),
        (edit("x = 1", "x = 2"), "def f():\n    x  =  1  # one\n", []),
        (edit("x = 1", "x = 2"), "def f():\n    x = 3\n", ["PK111"]),
        (edit("x = 1", "x = 2"), "def f():\n    x = 1\n    x = 1\n", ["PK112"]),
        (edit("x = 1", "x = 2", count=2), "def f():\n    x = 1\n    x = 1\n", []),
        (edit("x = 1", "x = 2"), "def f():\n    x = 2\n", ["PK122"]),
        (edit("x = 1", "x = 2"), "f = 3", ["PK102"]),
        (
            edit("x = 1", "x = 2", target="up.mod:D.f"),
            "class C:\n    def f(self):\n        x = 1\nclass D(C): ...",
            ["PK102"],
        ),
        (edit("x = 1", "x = 2"), "from up.lib import f", ["PK102"]),
        (
            edit("x = 1", "x = 2", target="up.mod:C.f"),
            "from up.lib import C",
            ["PK102"],
        ),
        ("Add('up.mod:new', by='g')", "", []),
        ("Add('up.mod:new', by='g')", "def new(): ...", ["PK121"]),
        ("Add('up.mod:C.new', by='g')", "", ["PK101"]),
        ("AddField('up.mod:C', 'x', int, 1)", "class C: ...", []),
        ("AddField('up.mod:C', 'x', int, 1)", "class C:\n    x: int = 2", ["PK121"]),
        ("AddField('up.mod:C', 'x', int, 1)", "def C(): ...", ["PK102"]),
        ("Add('up.mod:C.__call__', by='g')", "class C: ...", []),
        ("Add('up.mod:C.__new__', by='g')", "class C: ...", ["PK121"]),
        ("Add('up.mod:C.register', by='g')", "import abc\nclass C(abc.ABC): ...", []),
        ("Add('up.mod:C.__call__', by='g')", "import abc\nclass C(abc.ABC): ...", []),
        ("Add('up.mod:C.f', by='g')", "class M(type):\n    def f(c): ...\n" + MADE, []),
        (
            "Add('up.mod:C.f', by='g')",
            "class M(type):\n    @property\n    def f(c): ...\n" + MADE,
            ["PK121"],
        ),
        ("Provide('up.extra', by='N')", "", []),
        ("Provide('up.mod', by='N')", "", ["PK121"]),
        ("Provide('up.none.extra', by='N')", "", ["PK101"]),
        ("AfterImport('up.mod', call='g')", "", []),
        ("AfterImport('up.gone', call='g')", "", ["PK101"]),
        ("AfterImport('up.mod', call='N')", "", ["PK102"]),
        (SETS, "def f(): ...", []),
        (SETS, "def other(): ...", ["PK101"]),
        (SETS, "globals().update(x())", ["PK104"]),
        (SETS_FIELD, "class C:\n    x = 1", []),
        (
            SETS_FIELD,
            "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass C:\n    x: int = 1",
            ["PK102"],
        ),
        (SETS_FIELD, "import enum\nclass C(enum.Enum):\n    x = 1", ["PK102"]),
        ("Replace('up.mod:f', by='h')", "def f(): ...", ["PK503"]),
    ],
)
def test_each_change_has_its_needs(
    world: World, change: str, mod: str, expected: list[str]
) -> None:
    """Each way in which a release lacks what a change needs has its code, and sets the state."""
    classes = "from up.mod import C\nclass Sub(C): ...\nclass Loose: ...\n"
    body = BODY
    if "by='Sub'" in change or "by='Loose'" in change:
        body += classes
    world.pack(row("p", "patch_a", change), patch_a=body)
    lib = "def f():\n    x = 1\nclass C:\n    def f(self):\n        x = 1\n"
    report = checked([subject("1.0", mod=mod, lib=lib)])
    assert codes(report) == expected
    harmless = {"PK104"}
    if change == REPLACE:
        harmless.add("PK122")
    if not set(expected) <= harmless:
        state = "broken"
    elif expected == ["PK104"]:
        state = "undecided"
    else:
        state = "ok"
    assert report.grid["p"]["up 1.0"] == state


@pytest.mark.parametrize(
    ("change", "mod", "expected"),
    [
        (FIELD, "class C:\n    x = 1", []),
        (FIELD, "@dataclasses.dataclass\nclass C:\n    x: int = 1", []),
        (
            FIELD,
            "@dataclasses.dataclass(slots=True)\nclass C:\n    x: int = 1",
            ["PK102"],
        ),
        (FIELD, "class C(typing.NamedTuple):\n    x: int = 1", ["PK102"]),
        (FIELD, "class B(msgspec.Struct):\n    x: int = 1\nclass C(B): ...", ["PK102"]),
        (FIELD, "@attrs.define\nclass C:\n    x: int = 1", ["PK102"]),
        (FIELD, "@attrs.define\nclass C:\n    x = 1", []),
        (FIELD, "class C(enum.Enum):\n    x = 1", ["PK102"]),
        (
            FIELD.replace("'N'", "'P.x'"),
            "class C(typing.NamedTuple):\n    x: int = 1",
            [],
        ),
        (HOOK, "class C:\n    def __init__(self): ...", []),
        (HOOK, "class C(msgspec.Struct):\n    x: int = 1", ["PK102"]),
        (
            HOOK,
            "class C(enum.Enum):\n    A = 1\n    def __init__(self, x): ...",
            ["PK102"],
        ),
        (HOOK, "class C(enum.Enum):\n    def __init__(self, x): ...", []),
        (ADD_SLOTS, "class C: ...", ["PK102"]),
        (ADD_HOOK, "class C: ...", []),
        (ADD_HOOK, "class C(msgspec.Struct):\n    x: int = 1", ["PK102"]),
    ],
)
def test_a_target_that_its_class_does_not_hold_is_broken(
    world: World, change: str, mod: str, expected: list[str]
) -> None:
    """A default in a slot, a member of an enum and a constructor of msgspec have PK102."""
    body = f"{BODY}class P:\n    @property\n    def x(self): return 1\n"
    world.pack(row("p", "patch_a", change), patch_a=body)
    report = checked([subject("1.0", mod=IMPORTS + mod)])
    assert codes(report) == expected
    assert (report.grid["p"]["up 1.0"] == "broken") is bool(expected)


SUPER = "class C:\n    def m(self): super(C, self).m()\n"


@pytest.mark.parametrize(
    ("change", "body", "expected"),
    [
        ("Replace('up.mod:C', by='D')", "class D(C): ...", ["PK102"]),
        (
            "Replace('up.mod:C', by='D')",
            "class D(C):\n    def m(self): return C.m(self)",
            ["PK102"],
        ),
        ("Replace('up.mod:C', by='D')", "class D(C):\n    def m(self): ...", []),
        ("Replace('up.mod:C', by='D', unrelated=True)", "class D(C): ...", []),
        ("Replace('up.mod:C.m', by='m')", "def m(self): super().m()", ["PK102"]),
        ("Replace('up.mod:C.m', by='m')", "def m(self): return super(C, self).m()", []),
        ("Add('up.mod:C.n', by='n')", "def n(self): super().m()", ["PK102"]),
        ("Add('up.mod:n', by='n')", "def n(self): super().m()", []),
        (
            "Replace('up.mod:C.m', by='D.m')",
            "class D:\n    def m(self): super().m()",
            ["PK102"],
        ),
    ],
)
def test_a_super_that_finds_the_wrong_class_is_broken(
    world: World, change: str, body: str, expected: list[str]
) -> None:
    """`super(C, self)` in a class that is replaced, and `super()` in what no class is around."""
    world.pack(row("p", "patch_a", change), patch_a=f"from up.mod import C\n{body}\n")
    report = checked([subject("1.0", mod=SUPER)])
    assert codes(report) == expected
    assert (report.grid["p"]["up 1.0"] == "broken") is bool(expected)


@pytest.mark.parametrize(
    ("change", "mod", "expected"),
    [
        (REPLACE, "@out.side\ndef f(x): ...", ["PK105"]),
        (REPLACE, "def f(x): ...\nf = out.side(f)", ["PK105"]),
        ("Replace('up.mod:f', by='unknown')", "def f(x): ...", ["PK105"]),
        ("Replace('up.mod:f', by='g', unrelated=True)", "@out.side\ndef f(x): ...", []),
        ("Replace('up.mod:N', by='N')", "N = out.side()", []),
    ],
)
def test_nothing_is_ok_that_was_not_compared(
    world: World, change: str, mod: str, expected: list[str]
) -> None:
    """If a signature cannot be read, the state is undecided, and a note says why; nothing fails."""
    world.pack(
        row("p", "patch_a", change), patch_a=f"{BODY}@out.side\ndef unknown(): ...\n"
    )
    report = checked([subject("1.0", mod=mod)])
    found = [finding.code.code for finding in report.findings]
    assert [code for code in found if code < "PK3"] == expected
    assert report.grid["p"]["up 1.0"] == ("undecided" if expected else "ok")


@pytest.mark.parametrize(("option", "expected"), [("", 1), (", unrelated=True", 0)])
def test_unrelated_lets_a_helper_of_replaced_callers_differ(
    world: World, option: str, expected: int
) -> None:
    """PK103 suggests `unrelated=True` for a helper with another signature, and ends with it."""
    mod = "class C:\n def run(self): return self._help(1)\n def _help(self, x): ..."
    helper = f"Replace('up.mod:C._help', by='help_'{option})"
    body = "def run(self): return self._help()\ndef help_(self): ..."
    world.pack(
        row("p", "patch_a", "Replace('up.mod:C.run', by='run')", helper), patch_a=body
    )
    report = checked([subject("1.0", mod=mod)])
    fixes = [finding.fix for finding in report.findings if finding.code.code == "PK103"]
    assert ["unrelated=True" in fix for fix in fixes] == [True] * expected


def test_a_missing_target_is_followed(world: World) -> None:
    """The message says where a target went, found by the source of an earlier release."""
    source = "def f(alpha, beta):\n    return [alpha + one for one in beta]\n"
    world.pack(row("p", "patch_a", REPLACE), patch_a="def g(alpha, beta): ...")
    before, after = subject("1.0", mod=source), subject("2.0", mod="", new=source)
    finding = only_finding(checked([before, after]), "PK101")
    assert (finding.release, finding.target) == ("up 2.0", "up.mod:f")
    assert "moved to up.new:f" in finding.message


def test_only_releases_in_range_count(world: World) -> None:
    """Out of range nothing is looked at; a change's own requirements narrow the row's."""
    old = "Replace('up.mod:f', by='g', requires=('up<2',))"
    new = "Replace('up.new:f', by='g', requires=('up>=2',))"
    world.pack(
        row("p", "patch_a", old, new, requires="('up>=1,<3', 'else')"), patch_a=BODY
    )
    releases = [
        subject("0.9"),
        subject("1.0", mod="def f(a): ..."),
        subject("2.0", new="def f(a): ..."),
        subject("3.0"),
    ]
    report = checked(releases)
    assert codes(report) == []
    states = [str(report.grid["p"][release.name]) for release in releases]
    assert states == ["out-of-range", "ok", "ok", "out-of-range"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("up<2", "up>=2", []),
        ("up<2", "up>=3", ["PK302"]),
        ("up<3", "up>=2", ["PK303"]),
    ],
)
def test_alternative_places_leave_no_gap_and_no_overlap(
    world: World, first: str, second: str, expected: list[str]
) -> None:
    """In each release of the row's range exactly one of the alternative places has to be due."""
    changes = (
        f"AfterImport('up.a.mod', call='g', requires=({first!r},))",
        f"AfterImport('up.b.mod', call='g', requires=({second!r},))",
    )
    world.pack(row("p", "patch_a", *changes), patch_a=BODY)
    releases = [subject(f"{number}.0", a__mod="", b__mod="") for number in (1, 2, 3)]
    assert codes(checked(releases)) == expected


def test_a_release_that_cannot_be_read_stops_no_other(world: World) -> None:
    """A release that cannot be read is one finding and has no state; the others are judged."""
    world.pack(row("p", "patch_a", REPLACE), patch_a=BODY)
    report = checked([broken("1.0"), subject("2.0", mod="def f(a): ...")])
    assert codes(report) == ["PK901"]
    assert report.releases == ["up 1.0", "up 2.0"]
    assert report.grid["p"] == {"up 2.0": "ok"}


def test_a_range_without_a_release(world: World) -> None:
    """A range that no release is in is an error; a range without an end is a note."""
    world.pack(
        row("never", "patch_a", REPLACE, requires="('up>=9,<10',)"),
        row("open", "patch_b", REPLACE, requires="('up>=1',)", after="('never',)"),
        row("shut", "patch_c", REPLACE, requires="('up>=1,<9999',)", after="('open',)"),
        patch_a=BODY,
        patch_b=BODY,
        patch_c=BODY,
    )
    report = checked(
        [subject("1.0", mod="def f(a): ...")], known={"up": ["1.0", "2.0"]}
    )
    assert codes(report) == ["PK301"]
    assert only_finding(report, "PK301").patch == "never"
    assert only_finding(report, "PK304").patch == "open"


def test_two_patches_without_order(world: World) -> None:
    """Two patches of one target without an order are one finding, with the releases they share."""
    world.pack(
        row("one", "patch_a", WRAP),
        row("two", "patch_b", WRAP),
        patch_a=BODY,
        patch_b=BODY,
    )
    finding = only_finding(checked([subject("1.0", mod="def f(): ...")]), "PK401")
    assert (finding.patch, finding.target, finding.details) == (
        "two",
        "up.mod:f",
        ["up 1.0"],
    )


def test_bodies_and_rows_that_miss_each_other(world: World) -> None:
    """A body without a row and a row without a body are findings; the other rows are checked."""
    world.pack(
        row("lost", "patch_lost", WRAP),
        row("p", "patch_a", WRAP, after="('lost',)"),
        patch_a=BODY,
        patch_loose="",
    )
    report = checked([subject("1.0", mod="def f(): ...")])
    assert codes(report) == ["PK501", "PK502"]
    assert only_finding(report, "PK501").message.startswith(
        "no row of pack pack names patch_loose.py"
    )
    assert only_finding(report, "PK502").patch == "lost"
    assert report.grid == {"lost": {"up 1.0": "broken"}, "p": {"up 1.0": "ok"}}


def test_each_missing_text_of_a_row_is_a_finding(world: World) -> None:
    """A row that lacks `upstream` and `sunset` has a finding for each."""
    world.pack(row("p", "patch_a", WRAP, why="'It fails.'"), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    found = [finding.code.code for finding in report.findings]
    missing = [code for code in found if code.startswith("PK51")]
    assert missing == ["PK512", "PK513"]
    assert only_finding(report, "PK512").line == 2


@pytest.mark.parametrize(
    ("source", "code", "state"),
    [
        ("def f(a):\n    # said anew\n    return  1", None, "ok"),
        ("def f(a): return 2", "PK201", "drift"),
        ("def f(): return 1\ndef g(): return 1", "PK201", "drift"),
    ],
)
def test_a_source_other_than_the_locked_one_is_drift(
    world: World, source: str, code: str | None, state: str
) -> None:
    """A source that means another thing than the reviewed one is drift; layout is not."""
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    reviewed = subject("1.0", mod="def f(a): return 1")
    fingerprint = reviewed.facts(Target("up.mod", "f")).fingerprint
    assert fingerprint
    lock = Lock({"p": {"up.mod:f": [Span(fingerprint, "up", "1.0", "1.0")]}})
    report = checked([subject("2.0", mod=source)], lock)
    expected = [code] if code else []
    assert codes(report) == expected
    assert report.grid["p"]["up 2.0"] == state


def test_what_the_lock_lacks_is_unreviewed(world: World) -> None:
    """A target that the lock lacks is unreviewed; without a lock no target is."""
    world.pack(row("p", "patch_a", WRAP), patch_a=BODY)
    releases = [subject("1.0", mod="def f(a): return 1")]
    report = checked(releases, Lock({"p": {}}))
    assert only_finding(report, "PK202").target == "up.mod:f"
    assert report.grid["p"]["up 1.0"] == "unreviewed"
    assert checked(releases).grid["p"]["up 1.0"] == "ok"


def test_a_range_that_nothing_can_be_in_needs_no_index(world: World) -> None:
    """Bounds that contradict each other are found without any release."""
    narrow = "Replace('up.mod:f', by='g', requires=('up<1',))"
    rows = (
        row("p", "patch_a", REPLACE, requires="('up>=2,<1',)"),
        row("q", "patch_a", narrow),
    )
    world.pack(*rows, patch_a=BODY)
    findings = [
        finding for finding in checked([]).findings if finding.code.code == "PK301"
    ]
    assert [finding.message.partition(" can ")[2] for finding in findings] == [
        "match up>=2,<1",
        "match up>=1, up<1",
    ]
    assert [finding.target for finding in findings] == ["", "up.mod:f"]


def test_what_provides_a_package_stands_for_it(world: World) -> None:
    """A release of another distribution that holds `up` is held against the bounds on `up`."""
    old_range = row("old", "patch_a", REPLACE, requires="('up>=1,<2',)")
    new_range = row("new", "patch_a", REPLACE, requires="('up>=2,<3',)")
    two_ranges = row("more", "patch_a", REPLACE, requires="('up>=2', 'up-nightly<2.5')")
    world.pack(old_range, new_range, two_ranges, patch_a=BODY)
    source = Memory("n", "2.5", files_of({"mod": "def f(a): ...\n"}))
    nightly = CheckedRelease("up-nightly 2.5", "up-nightly", "2.5", lambda: source)
    grid = checked([nightly]).grid
    states = {name: str(*by_release.values()) for name, by_release in grid.items()}
    assert states == {
        "old": "out-of-range",
        "new": "ok",
        "more": "out-of-range",
    }


def test_changes_with_a_when_of_their_own_may_overlap(world: World) -> None:
    """Changes that have a `when` may be due in the same release, and each is judged."""
    fields = "by='g', requires=('up>=1',), when='w'"
    changes = f"Replace('up.mod:f', {fields})", f"Replace('up.late:f', {fields})"
    world.pack(row("p", "patch_a", *changes, requires="('up>=1,<2',)"), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(a, b=1): ...")])
    assert codes(report) == ["PK101"]
    assert only_finding(report, "PK101").target == "up.late:f"
    assert "w decides where it would apply" in only_finding(report, "PK101").message


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    return super().m()\n", ["PK102"]),
        ("    return super(C, instance).m()\n", []),
        ("    class D:\n        def m(self): return super().m()\n", []),
    ],
)
def test_super_in_a_wrapper(world: World, body: str, expected: list[str]) -> None:
    """`super()` in a function outside of a class fails when it is called, whatever is wrapped."""
    source = f"from up.mod import C\ndef w(wrapped, instance, args, kwargs):\n{body}"
    for target in ("up.mod:C.m", "up.mod:f"):
        world.pack(row("p", "patch_a", f"Wrap({target!r}, by='w')"), patch_a=source)
        mod = "class C:\n    def m(self): ...\ndef f(): ...\n"
        assert codes(checked([subject("1.0", mod=mod)])) == expected


@pytest.mark.parametrize("field", ["when", "verify"])
def test_what_a_row_asks_is_a_function(world: World, field: str) -> None:
    """A constant cannot be called; the finding is at its line in the body."""
    world.pack(row("p", "patch_a", WRAP, **{field: "'N'"}), patch_a=BODY)
    report = checked([subject("1.0", mod="def f(): ...")])
    finding = only_finding(report, "PK102")
    assert (finding.line, report.grid["p"]["up 1.0"]) == (3, "broken")


def test_what_a_call_sets_is_reported_under_its_own_name(world: World) -> None:
    """Also in a package that the row does not require, and where no order is stated."""
    call = "AfterImport('up.mod', call='g', sets=('up.mod:f', 'other.mod:f'))"
    world.pack(
        row("p", "patch_a", call), row("q", "patch_b", WRAP), patch_a=BODY, patch_b=BODY
    )
    report = checked([subject("1.0", mod="def f(a, b=1): ...")])
    assert only_finding(report, "PK401").target == "up.mod:f"
    assert "other" in only_finding(report, "PK306").message
    report = checked([subject("1.0", mod="x = 1")])
    missing = [each for each in report.findings if each.code.code == "PK101"]
    assert {(each.patch, each.target) for each in missing} == {
        ("p", "up.mod:f"),
        ("q", "up.mod:f"),
    }
