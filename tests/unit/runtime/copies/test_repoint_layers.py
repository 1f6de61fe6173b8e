"""Copies where several layers lie on one target, and where they are looked for."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import pytest
from support.layers import push

from patchkit.runtime import copies
from patchkit.runtime.changes.owners import locate
from patchkit.runtime.changes.sites import Layer
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
    """Who has it from the target gets the original back; who has it from the body keeps it."""
    site = loaded.site("function", ("plugin",))
    new = New()
    undo = push(site, Layer(lambda _: new, base=True))
    source = "from up import function\nrenamed = function\nclass Mine:\n    stored = function"
    upstream, plugin = loaded.add("up.between", source), loaded.add("plugin", source)
    loaded.add("body", new=new)
    others = loaded.add("up.others", "from body import new as function")
    undo()
    names = ("Mine.stored", "function", "renamed")
    places = [
        f"{module}:{name}" for module in ("plugin", "up.between") for name in names
    ]
    assert loaded.restore(site) == places
    assert upstream.renamed is plugin.Mine.stored is loaded.up.function
    assert others.function is new


def test_a_replacement_that_is_upstreams_own(loaded: Loaded) -> None:
    """Who has `Thing` has it from there, and not from `function`, which it stood in for."""
    site = loaded.site("function")
    undo = push(site, Layer(lambda _: loaded.up.Thing, base=True))
    user = loaded.add("up.user", "from up import Thing, function")
    undo()
    assert loaded.restore(site) == ["up.user:function"]
    assert user.Thing is loaded.up.Thing


def test_what_a_class_stored_while_a_wrapper_was_on(loaded: Loaded) -> None:
    """Undo reaches class attributes that were made since."""
    site = loaded.site("function")
    undo = push(site, Layer(lambda _: New()))
    user = loaded.add(
        "up.user", "from up import function\nclass Mine:\n    stored = function"
    )
    undo()
    assert loaded.restore(site) == ["up.user:Mine.stored", "up.user:function"]
    assert vars(user.Mine)["stored"] is loaded.up.function


def test_restoring_leaves_originals_alone(loaded: Loaded) -> None:
    """Who holds an original after an undo is right, although another patch changes its like."""
    function = loaded.up.function
    twin = loaded.add("up.twin", "from up import function")
    other = loaded.add("up.other", "from up import function")
    still = loaded.sites.at(locate(twin, "function"))
    still.rebind = frozenset({"up"})
    push(still, Layer(lambda below: ["still", below]))
    loaded.restore(still)
    assert other.function is function


def test_a_place_with_a_patch_of_its_own_is_no_copy(loaded: Loaded) -> None:
    """What another patch has put there stays until that one is undone."""
    new = New()
    first = loaded.site("function")
    undo = push(first, Layer(lambda _: new, base=True))
    twin = loaded.add("up.twin", "from up import function")
    push(loaded.sites.at(locate(twin, "function")), Layer(lambda below: below))
    undo()
    loaded.restore(first)
    assert twin.function is new


def test_a_write_that_is_torn_off_is_taken_back(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each copy is noted before it is written, so that undo finds it whatever happens then."""
    one = loaded.add("up.one", "from up import function")
    site, undo = loaded.changed("function")

    def torn(owner: Any, step: Any, value: Any) -> None:
        owner[step.key] = value
        raise KeyboardInterrupt

    monkeypatch.setattr("patchkit.runtime.copies.repointing.write", torn)
    with pytest.raises(KeyboardInterrupt):
        loaded.repoint(site)
    assert one.function is site.current
    undo()
    assert one.function is loaded.up.function


# -- where to look ---------------------------------------------------------------------------------


def test_modules_since_a_module_began_to_load(loaded: Loaded) -> None:
    """Only the module and what began to load later can have copied at its first execution."""
    loaded.add("later")
    loaded.add("latest")
    assert copies.scope.modules_since("up").modules == ["latest", "later", "up"]


def test_modules_since_a_module_that_is_gone(loaded: Loaded) -> None:
    """A module that took itself out of `sys.modules` hides nothing."""
    loaded.add("later")
    assert "up" in copies.scope.modules_since("no such module").modules


def test_early_a_module_that_names_nothing_of_the_target_is_not_looked_into(
    loaded: Loaded,
) -> None:
    """It can have copied nothing yet; late it may have, by way of somebody else."""
    loaded.add("up.user", "held = [up.function]\ndel up")
    site, _ = loaded.changed("function")
    keepers = Keepers((), (), loaded.sites)
    assert repoint([site], copies.scope.modules_since("up"), keepers).left == []
    assert words(repoint([site], copies.scope.all_modules(), keepers).left) == [
        "up.user:held[0]"
    ]


def test_early_what_the_targets_module_holds_itself_is_found(loaded: Loaded) -> None:
    """A class attribute and a table of the module that is patched at its import."""
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
    """A base class cannot be repointed, so the journal says who has the old one."""
    thing = loaded.up.Thing
    new = type("Thing", (thing,), {})
    assert copies.scope.subclasses_left(thing, new) == ["up:Sub (derives from it)"]
    assert copies.scope.subclasses_left(loaded.up.function, new) == []
    assert copies.scope.subclasses_left(type, type("Meta", (type,), {})) != []


def test_a_layer_that_was_taken_off_lets_go_of_its_value(loaded: Loaded) -> None:
    """Who keeps the layer does not keep alive what it made, which would look like a copy."""
    site = loaded.site("function")
    layer = Layer(lambda _: New())
    site.put(layer)
    made = weakref.ref(site.current)
    assert layer.value is made()
    site.take(layer)
    site.put(Layer(lambda _: New()))
    assert made() is None
