from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from support.packages import row

from analysis.check.released import Memory, files_of
from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.packs import read_packs
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.similar_names import did_you_mean
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.core.lock.format import Lock
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError
from patchkit.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest
    from support.packages import World

# Of each module, what it may be in a release; '' for none.
MODULES = {
    "a": ["", "def f(x): return x", "from up.b import f", "from up.c.d import *"],
    "b": [
        "",
        "def f(x, y): return y",
        "from up.c import f",
        "class f:\n def g(self): ...",
    ],
    "c": ["", "from up.c.d import f", "def f(): ...\nx = 1"],
    "c__d": ["", "def f(z): return z\nx = 2", "from up.b import f\n__all__ = ['f']"],
    "e": [
        "",
        "from up.b import f\nclass A(f): ...",
        "import up.c\nclass A(up.c.f): ...",
    ],
}
TARGETS = [
    Target.parse(f"up.{one}")
    for one in (
        "a:f",
        "b:f",
        "b:f.g",
        "c",
        "c:f",
        "c:x",
        "c.d",
        "c.d:x",
        "e:A",
        "e:A.g",
        "none:x",
    )
]
RELEASES = st.lists(
    st.fixed_dictionaries(
        {name: st.sampled_from(texts) for name, texts in MODULES.items()}
    ),
    min_size=2,
    max_size=5,
)


def subjects(
    releases: Sequence[Mapping[str, str]], kept: FactStore | None, begun: str = "1"
) -> list[CheckedRelease]:
    """Releases of those modules that are not ''."""
    return [
        _subject(
            f"{begun}.{number}",
            {name: text for name, text in modules.items() if text},
            kept,
        )
        for number, modules in enumerate(releases)
    ]


def _subject(
    version: str, modules: Mapping[str, str], kept: FactStore | None
) -> CheckedRelease:
    """A release of these modules, with a hash, so that facts about it can be kept."""
    source = Memory(f"up {version}", version, files_of(modules))
    key = f"hash of {version}"
    return CheckedRelease(
        source.name, "up", version, lambda: source, kept, key, is_local=False
    )


@given(RELEASES)
@settings(max_examples=30, deadline=None)
def test_kept_conclusions_equal_fresh_ones(
    releases: Sequence[Mapping[str, str]],
) -> None:
    """Whatever releases have in common, each answers as if it had been asked alone."""
    kept = FactStore(Cache(None))
    several, alone = subjects(releases, kept), subjects(releases, None)
    assert learn_all(several, lambda _: TARGETS) == {}
    later = subjects(releases, kept, "2")
    learn_all(later, lambda _: TARGETS)
    for learnt, unshared, repeated in zip(several, alone, later, strict=True):
        for target in TARGETS:
            assert (
                learnt.facts(target) == unshared.facts(target) == repeated.facts(target)
            )


def test_what_is_known_of_the_same_files_is_not_read() -> None:
    """A release whose files say nothing new is not opened for what was concluded before."""
    cache = Cache(None)
    modules = {"a": "def f(x): return x", "b": "x = 1"}
    first = _subject("1", modules, FactStore(cache))
    learn_all([first], lambda _: [Target("up.a", "f")])
    second = _subject("2", {**modules, "b": "x = 2"}, FactStore(cache))
    second.source.read = None  # type: ignore[method-assign, assignment]
    learn_all([second], lambda _: [Target("up.a", "f")])
    assert second.facts(Target("up.a", "f")) == first.facts(Target("up.a", "f"))


def test_the_class_of_a_missing_attribute_is_learnt_with_it() -> None:
    """Learning an attribute that is gone also learns its class, but not the module."""
    subject = _subject("1", {"a": "class C: ..."}, FactStore(Cache(None)))
    subject.learn([Target("up.a", "C.gone"), Target("up.b")])
    assert subject.unknown([Target("up.a", "C"), Target("up.a")]) == [Target("up.a")]


def test_a_suggestion_for_a_missing_name_is_kept() -> None:
    """A name like a missing one is searched for once, unless the release cannot be read."""
    cache = Cache(None)
    gone = Target("up.aaab", "f")
    modules = {"aaaa": "def f(): ..."}
    first = _subject("1", modules, FactStore(cache))
    second = _subject("1", modules, FactStore(cache))
    third = _subject("1", modules, FactStore(cache))

    def unreadable(path: str) -> bytes:
        raise UpstreamError(path)

    first.source.read = unreadable  # type: ignore[method-assign]
    assert did_you_mean(gone, first) == ""
    assert did_you_mean(gone, second) == "; did you mean up.aaaa:f?"
    third.source.paths = unreadable  # type: ignore[method-assign, assignment]
    assert did_you_mean(gone, third) == did_you_mean(gone, second)


def test_a_body_that_derives_from_its_target_needs_no_file(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a body's class derives from its target follows from kept facts, without a read."""
    monkeypatch.setattr("patchkit.registry.OWN_PACKS", ())
    source = row("p", "patch_a", "Replace('up.a:C', by='D')")
    world.pack(source, patch_a="from up.a import C\nclass D(C): ...")
    rows, _ = read_packs(Settings(), ["pack"])
    cache = Cache(None)

    def unreadable(path: str) -> bytes:
        raise UpstreamError(path)

    def state(subject: CheckedRelease) -> str:
        return Check(list(rows), [subject], Lock(), {}).run().grid["p"][subject.name]

    first = _subject("1", {"a": "class C: ..."}, FactStore(cache))
    again = _subject("1", {"a": "class C: ..."}, FactStore(cache))
    assert state(first) == "ok"
    again.source.read = unreadable  # type: ignore[method-assign]
    assert state(again) == "ok"
