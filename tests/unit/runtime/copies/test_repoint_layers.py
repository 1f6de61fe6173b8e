"""Copies where several layers lie on one target, and where they are looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.layers import push

from patchkit.runtime import copies
from patchkit.runtime.changes.owners import locate
from patchkit.runtime.changes.site import Layer
from patchkit.runtime.copies.repointing import repoint
from patchkit.runtime.copies.scope import Keepers

from .loaded import New, words

if TYPE_CHECKING:
    from .loaded import Loaded

# -- layers ----------------------------------------------------------------------------------------


def test_a_copy_of_a_lower_layer(loaded: Loaded) -> None:
    """A module that copied the attribute between two patches follows the second one.

    The first patch was applied at the import, the second when a role was entered.
    """
    site = loaded.site("function")
    push(site, Layer(lambda below: ["first", below]))
    between = loaded.add("up.between", "from up import function")
    undo = push(site, Layer(lambda below: ["second", below]))
    loaded.repoint(site)
    assert between.function is loaded.up.function
    undo()
    assert between.function is loaded.up.function


def test_a_copy_of_a_replacement(loaded: Loaded) -> None:
    """Undo restores a replacement that came from the target, and leaves one from the body."""
    site = loaded.site("function", ("plugin",))
    new = New()
    undo = push(site, Layer(lambda _: new, base=True))
    source = "from up import function\nrenamed = function\nclass Mine:\n    stored = function"
    upstream = loaded.add("up.between", source)
    plugin = loaded.add("plugin", source)
    loaded.add("body", new=new)
    others = loaded.add("up.others", "from body import new as function")
    undo()
    names = ("Mine.stored", "function", "renamed")
    restored = [f"plugin:{name}" for name in names]
    restored += [f"up.between:{name}" for name in names]
    assert loaded.restore(site) == restored
    assert upstream.renamed is plugin.Mine.stored is loaded.up.function
    assert others.function is new


def test_a_replacement_that_is_upstreams_own(loaded: Loaded) -> None:
    """Undo leaves `Thing`, which stood in for `function`, where it was imported as `Thing`."""
    site = loaded.site("function")
    undo = push(site, Layer(lambda _: loaded.up.Thing, base=True))
    user = loaded.add("up.user", "from up import Thing, function")
    undo()
    assert loaded.restore(site) == ["up.user:function"]
    assert user.Thing is loaded.up.Thing


def test_what_a_class_stored_while_a_wrapper_was_on(loaded: Loaded) -> None:
    """A class attribute that was bound while the wrapper was on is restored after the undo."""
    site = loaded.site("function")
    undo = push(site, Layer(lambda _: New()))
    user = loaded.add(
        "up.user", "from up import function\nclass Mine:\n    stored = function"
    )
    undo()
    assert loaded.restore(site) == ["up.user:Mine.stored", "up.user:function"]
    assert vars(user.Mine)["stored"] is loaded.up.function


def test_restoring_leaves_originals_alone(loaded: Loaded) -> None:
    """A copy of the original stays, although another copy of it has a patch of its own."""
    function = loaded.up.function
    twin = loaded.add("up.twin", "from up import function")
    other = loaded.add("up.other", "from up import function")
    twin_site = loaded.sites.at(locate(twin, "function"))
    twin_site.rebind = frozenset({"up"})
    push(twin_site, Layer(lambda below: ["still", below]))
    loaded.restore(twin_site)
    assert other.function is function


def test_a_place_with_a_patch_of_its_own_lies_on_what_it_was_bound_from(
    loaded: Loaded,
) -> None:
    """A patched copy follows the target below its own layers, and goes with it after an undo."""
    new = New()
    first = loaded.site("function")
    undo = push(first, Layer(lambda _: new, base=True))
    twin = loaded.add("up.twin", "from up import function")
    push(loaded.sites.at(locate(twin, "function")), Layer(lambda below: [below]))
    assert twin.function == [new]
    undo()
    loaded.restore(first)
    assert twin.function == [loaded.up.function]


def test_a_copy_whose_write_is_interrupted_is_restored(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undo restores a copy although the pass was interrupted right after it had written it."""
    importer = loaded.add("up.one", "from up import function")
    site, undo = loaded.changed("function")

    def write_and_interrupt(owner: Any, step: Any, value: Any) -> None:
        owner[step.key] = value
        raise KeyboardInterrupt

    monkeypatch.setattr("patchkit.runtime.copies.repointing.write", write_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        loaded.repoint(site)
    assert importer.function is site.current
    undo()
    assert importer.function is loaded.up.function


# -- where to look ---------------------------------------------------------------------------------


def test_modules_since_a_module_began_to_load(loaded: Loaded) -> None:
    """They are the module and those that began to load after it did, the last one first."""
    loaded.add("later")
    loaded.add("latest")
    assert copies.scope.modules_since("up").modules == ["latest", "later", "up"]


def test_modules_since_a_module_that_is_gone(loaded: Loaded) -> None:
    """All modules are in the scope if the named one is no longer in `sys.modules`."""
    loaded.add("later")
    assert "up" in copies.scope.modules_since("no such module").modules


def test_early_a_module_that_names_nothing_of_the_target_is_not_looked_into(
    loaded: Loaded,
) -> None:
    """Such a module can have copied nothing at the target's import; a late pass looks into it."""
    loaded.add("up.user", "held = [up.function]\ndel up")
    site, _ = loaded.changed("function")
    keepers = Keepers((), (), loaded.sites)
    assert repoint([site], copies.scope.modules_since("up"), keepers).left == []
    assert words(repoint([site], copies.scope.all_modules(), keepers).left) == [
        "up.user:held[0]"
    ]


def test_early_what_the_targets_module_holds_itself_is_found(loaded: Loaded) -> None:
    """A pass at the import repoints class attributes of the target's module, and reports its
    tables.
    """
    exec(
        "class Mine:\n    stored = function\nREGISTRY = {'k': function}",
        vars(loaded.up),
    )
    site, _ = loaded.changed("function")
    keepers = Keepers((), (), loaded.sites)
    outcome = repoint([site], copies.scope.modules_since("up"), keepers)
    assert words(outcome.rebound) == ["up:Mine.stored"]
    assert words(outcome.left) == ["up:REGISTRY['k']"]


def test_subclasses_of_a_replaced_class_are_named(loaded: Loaded) -> None:
    """The subclasses that go on deriving from a replaced class are named."""
    thing = loaded.up.Thing
    new = type("Thing", (thing,), {})
    assert copies.scope.subclasses_left(thing, new) == ["up:Sub (derives from it)"]
    assert copies.scope.subclasses_left(loaded.up.function, new) == []
    assert copies.scope.subclasses_left(type, type("Meta", (type,), {})) != []


def test_a_layer_that_was_taken_off_lets_go_of_its_value(loaded: Loaded) -> None:
    """Who keeps the layer does not keep alive what it made, which would look like a copy."""
    gone: list[bool] = []

    class Telling:
        def __del__(self) -> None:
            gone.append(True)

    site = loaded.site("function")
    layer = Layer(lambda _: Telling())
    site.put(layer)
    assert layer.value is site.current
    site.remove(layer)
    assert not gone
    site.put(Layer(lambda _: New()))
    assert gone
