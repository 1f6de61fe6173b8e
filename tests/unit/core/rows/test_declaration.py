from __future__ import annotations

import dataclasses

import pytest
from support.samples import patch

import patchkit
from patchkit import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Edit,
    Provide,
    Replace,
    Role,
    Wrap,
)
from patchkit.core.rows.target import Target


@pytest.mark.parametrize(
    ("text", "module", "qualname"),
    [
        ("vllm", "vllm", ""),
        ("vllm.v1.engine", "vllm.v1.engine", ""),
        ("vllm.v1:Engine", "vllm.v1", "Engine"),
        ("vllm.v1:Engine.step", "vllm.v1", "Engine.step"),
    ],
)
def test_a_target_is_a_module_and_a_name_in_it(
    text: str, module: str, qualname: str
) -> None:
    """A target reads as it is written, and writes as it was read."""
    target = Target.parse(text)
    assert (target.module, target.qualname) == (module, qualname)
    assert str(target) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "vllm:",
        ":Engine",
        "vllm.",
        ".vllm",
        "a b:c",
        "vllm:a:b",
        "vllm:a.",
        "1:a",
    ],
)
def test_what_is_no_target_is_refused(text: str) -> None:
    """A text that is half a target, or has words that are no identifiers, is a ValueError."""
    with pytest.raises(ValueError, match=r".*"):
        Target.parse(text)


@pytest.mark.parametrize(
    ("change", "kind", "place", "body_name"),
    [
        (Replace("m.n:f", by="g"), "Replace", Target("m.n", "f"), "g"),
        (Wrap("m.n:C.f", by="g"), "Wrap", Target("m.n", "C.f"), "g"),
        (Edit("m.n:f", old="a", new="b"), "Edit", Target("m.n", "f"), ""),
        (Add("m.n:f", by="g"), "Add", Target("m.n", "f"), "g"),
        (AddField("m.n:C", "f", "int", 0), "AddField", Target("m.n", "C"), ""),
        (Provide("m.n", by="g"), "Provide", Target("m.n"), "g"),
        (BeforeImport("m.n", call="g"), "BeforeImport", Target("m.n"), "g"),
        (AfterImport("m.n", call="g"), "AfterImport", Target("m.n"), "g"),
    ],
)
def test_every_kind_says_its_word_its_place_and_its_object(
    change: patchkit.core.rows.declaration.Change,
    kind: str,
    place: Target,
    body_name: str,
) -> None:
    """All kinds answer the same questions, however their fields are called."""
    assert (change.kind, change.place, change.body_name) == (kind, place, body_name)


def test_a_role_is_the_word_that_people_write() -> None:
    """A role compares with, and prints as, its word in the contract."""
    assert [f"{role}" for role in Role] == ["main", "engine-core", "worker"]
    assert Role.ENGINE_CORE == "engine-core"


@pytest.mark.parametrize("value", [patch(), Replace("m:f", by="g"), Target("m")])
def test_declarations_are_frozen(value: object) -> None:
    """Nobody can change a row after the registry has checked it."""
    field = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, "other")


def test_the_vocabulary_is_sorted_and_there() -> None:
    """Everything that `patchkit.__all__` promises exists, and the list is easy to read."""
    assert sorted(patchkit.__all__) == list(patchkit.__all__)
    assert all(hasattr(patchkit, name) for name in patchkit.__all__)


def test_an_after_import_has_a_part_for_each_target_that_it_sets() -> None:
    """The parts have the conditions of the call, and are reviewed as other changes are."""
    call = AfterImport(
        "m", call="g", sets=("m:f", "n:C.f"), requires=("up>=1",), when="asks"
    )
    itself, *parts = call.parts
    assert itself is call
    assert call.sets
    assert AfterImport("m", call="g", sets=("m:f",)).sets
    assert not call.is_reviewed
    assert [part.place for part in parts] == [Target("m", "f"), Target("n", "C.f")]
    for part in parts:
        assert (part.kind, part.body_name, part.is_reviewed) == (
            "AfterImport",
            "g",
            True,
        )
        assert (part.requires, part.when, part.rebind) == (("up>=1",), "asks", True)
    wrap = Wrap("m:f", by="g")
    assert wrap.parts == (wrap,)
    assert not wrap.sets
    assert not AfterImport("m", call="g").sets
