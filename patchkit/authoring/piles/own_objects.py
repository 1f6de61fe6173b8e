"""Makes changes to objects of a pile's own, which a pack gets with the text of their modules.

A pile is a package that patches upstream. What one of its functions sets, or the function that
makes that of the original, is found in a module; the pack has a copy of it.
"""

import re
from collections.abc import Collection, Sequence

from patchkit.authoring.piles.bodies import module_text
from patchkit.authoring.piles.closure_factories import (
    ClosureFactory,
    closure_factories,
)
from patchkit.authoring.piles.guards import (
    common_package,
    last_of,
    old_pile,
    packages_of,
)
from patchkit.authoring.piles.keeping_off import PileFunction
from patchkit.authoring.piles.moved_names import moved_names
from patchkit.authoring.piles.observed import ObservedChange
from patchkit.authoring.piles.own_changes import (
    OwnChange,
    made_in_body,
    waiting_line,
    with_value,
)
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.piles.placed_targets import canonical_name
from patchkit.authoring.piles.plain_functions import (
    Expected,
    does_nothing_else,
    quiet_modules,
)
from patchkit.authoring.piles.row_names import body_word, unused
from patchkit.authoring.source.calls_at_import import called_at_import
from patchkit.core.rows.declaration import Decorate


class OwnObjects:
    """The objects of a pile that rows name.

    Args:
        pile: The rows of the pile; gets bodies with the text of its modules.
    """

    def __init__(self, pile: PileRows) -> None:
        self._pile = pile
        self._readers = {reader.module.name: reader for reader in pile.readers}
        # By module of the pile, the pack's module with its text: that is served in its place, as
        # its stand-in.
        self.codes = dict(pile.stand_ins)

    def changes(
        self, observed: Sequence[ObservedChange], function: PileFunction
    ) -> Sequence[OwnChange]:
        """Return a change for each of those that were observed; none if one is of another kind.

        Args:
            observed: What was observed.
            function: The function of the pile that was called.
        """
        if not self._does_nothing_else(observed, function):
            return ()
        paths = dict[str, str]()
        is_closure = False
        for change in observed:
            path = change.own or change.factory
            name = path.partition(":")[2]
            if change.form != "attribute":
                return ()
            if not path:
                is_closure = True
                continue
            # A Decorate would refuse what callers of the original cannot use.
            if not change.own and change.is_unrelated:
                return ()
            # Two objects of one name would hide one another in a body.
            if paths.setdefault(name, path) != path:
                return ()
        if is_closure:
            return self._closures(observed, function)
        modules = {path.partition(":")[0] for path in paths.values()}
        if not self._take_modules(modules):
            return ()
        return [self._change(change) for change in observed]

    def _does_nothing_else(
        self, observed: Sequence[ObservedChange], function: PileFunction
    ) -> bool:
        """Return whether rows of what a function sets stand for all that it does."""
        importing = self._readers.get(function.module)
        if importing is None:
            return False
        modules = {*self._pile.codes, *quiet_modules(self._readers)}
        # What its module imports, and the packages around it, are imported without the call.
        modules.update(pile_import.module for pile_import in importing.imports)
        package = function.module
        while package:
            modules.add(package)
            package = package.rpartition(".")[0]
        expected = Expected(
            dotted_names=[change.dotted_name for change in observed],
            factories=[change.factory for change in observed if change.factory],
            modules=modules,
            canonical=self._canonical_name,
        )
        return does_nothing_else(self._readers, function, expected)

    def _canonical_name(self, dotted_name: str) -> str:
        """Return the dotted name that all paths of one attribute have in common."""
        return canonical_name(self._pile.release, dotted_name)

    def _closures(
        self, observed: Sequence[ObservedChange], function: PileFunction
    ) -> Sequence[OwnChange]:
        """Return changes by factories, which the function is turned into; none if it cannot be.

        Args:
            observed: What the function sets.
            function: The function.
        """
        reader = self._readers.get(function.module)
        if reader is None:
            return ()
        names = [change.dotted_name for change in observed]
        factories = closure_factories(
            reader, function.path, names, self._canonical_name
        )
        for change in observed:
            factory = factories.get(change.dotted_name)
            is_only_inherited = change.is_new and change.is_inherited
            if factory is None or is_only_inherited:
                return ()
            if factory.uses_original and not change.is_function:
                return ()
            is_decorated = not (change.own or change.is_new or factory.is_constant)
            if is_decorated and change.is_unrelated:
                return ()
        if not self._take_modules({function.module}):
            return ()
        words = {change.own.partition(":")[2] for change in observed}
        made = list[OwnChange]()
        for change in observed:
            if change.own.partition(":")[0] == function.module:
                made.append(self._change(change))
                continue
            name = re.sub(r"\W+", "_", change.target.partition(":")[2])
            word = unused(name, words)
            words.add(word)
            factory = factories[change.dotted_name]
            is_here = function.module not in self.codes
            if is_here and not factory.is_constant:
                name = unused(f"make_{word}", words)
                words.add(name)
                line = waiting_line(reader)
                made.append(made_in_body(change, factory, name, function, line))
                continue
            made.append(self._made(change, factory, word, function))
        return made

    def _made(
        self,
        change: ObservedChange,
        factory: ClosureFactory,
        word: str,
        function: PileFunction,
    ) -> OwnChange:
        """Write a factory into the code of its module, and return the change that calls it.

        Args:
            change: What was observed.
            factory: The factory.
            word: A word for its target.
            function: The function that it is made of.
        """
        if factory.is_constant:
            return with_value(change, word, [f"{word} = {factory.value}"])
        code = self.codes[function.module]
        code_text = self._pile.bodies[last_of(code)]
        name = unused(f"make_{word}", re.findall(r"\w+", code_text))
        text = factory.text(name, str(function), change.target)
        self._pile.bodies[last_of(code)] += text
        line = f"from {code} import {name}"
        if change.is_new:
            return with_value(change, word, [line, f"{word} = {name}(None)"])
        return OwnChange(Decorate(change.target, by=name, rebind=False), [line])

    def _change(self, change: ObservedChange) -> OwnChange:
        """Return the change of a target to the pile's own object."""
        module, _, name = (change.own or change.factory).partition(":")
        code = self.codes.get(module, "")
        line = f"from {code or module} import {name}"
        lines = [line]
        if not code:
            lines.insert(0, waiting_line(self._readers[module]))
        if change.own:
            return with_value(change, name, lines)
        return OwnChange(Decorate(change.target, by=name, rebind=False), lines)

    def _take_modules(self, names: Collection[str]) -> bool:
        """Give the pack the text of modules, and of what they import, if it can have it.

        A body that imports from the pile's module itself is late: that module imports upstream,
        which makes the row due, so the body waits for the end of the module's import.

        Args:
            names: The names of the modules.

        Returns:
            Whether the pack has the text now.
        """
        if not self._all_have_stand_ins():
            return False
        # The outermost module of a pile can have no stand-in. A body that imports from it waits
        # until it is whole, and so do the changes that others would have made before.
        in_packages = {name for name in names if "." in name}
        if not all(map(self._may_stay, set(names) - in_packages)):
            return False
        if not in_packages:
            return True
        readers = self._with_imported(in_packages)
        missing = list[PileReader]()
        for reader in readers:
            if reader is None:
                return False
            if reader.module.name in self.codes:
                continue
            if not self._may_be_copied(reader):
                return False
            missing.append(reader)
        modules = [*self.codes, *(each.module.name for each in missing)]
        if "" in packages_of(modules):
            return False  # a module in no package cannot have a stand-in
        if missing:
            self._add_modules(missing, common_package(modules))
        return True

    def _may_stay(self, name: str) -> bool:
        """Whether bodies may import from the outermost module of the pile."""
        reader = self._readers.get(name)
        return reader is not None and _only_defines(reader)

    def _may_be_copied(self, reader: PileReader) -> bool:
        """Whether the text of a module does in the pack what it does in the pile."""
        if _has_moved_names(reader) or self._makes_call(reader):
            return False
        return _only_defines(reader)

    def _makes_call(self, reader: PileReader) -> bool:
        """Whether a module calls, as it is imported, a function that may have a row.

        In the pack it would get the function itself, where the pile's module gets one that does
        nothing.
        """
        if self._pile.observed is None:
            return False
        names = {call.rpartition(":")[2] for call in self._pile.observed.calls}
        called = called_at_import(reader.module.tree)
        return any(name.rpartition(".")[2] in names for name in called)

    def _all_have_stand_ins(self) -> bool:
        """Whether the pack serves the text of every module of the pile that it has a body of."""
        return set(self._pile.codes) <= set(self.codes)

    def _with_imported(self, names: Collection[str]) -> list[PileReader | None]:
        """Return the readers of modules, and of all modules of the pile that they import.

        Args:
            names: The names of the modules; None stands for one that the pile does not have.
        """
        readers = list[PileReader | None]()
        unread = sorted(names)
        seen = set(unread)
        while unread:
            reader = self._readers.get(unread.pop())
            readers.append(reader)
            if reader is None:
                continue
            for pile_import in reader.imports:
                is_new = pile_import.module not in seen
                if is_new and pile_import.module in self._readers:
                    seen.add(pile_import.module)
                    unread.append(pile_import.module)
        return readers

    def take_text(self, reader: PileReader) -> str:
        """Give the pack the text of a module, whatever it does, and return the text's module.

        Args:
            reader: The reader of the module.

        Returns:
            The name of the pack's module; '' where the pile's could have no stand-in.
        """
        name = reader.module.name
        modules = [*self.codes, name]
        if "" in packages_of(modules) or not self._all_have_stand_ins():
            return ""
        self._add_modules([reader], common_package(modules))
        return self.codes[name]

    def _add_modules(self, readers: Sequence[PileReader], base: str) -> None:
        """Write the text of modules into the pack, and their stand-ins into the row `old-pile`."""
        pile = self._pile
        for reader in readers:
            name = reader.module.name
            if name in self.codes:
                continue
            word = unused(f"code_{body_word(name, base)}", pile.bodies)
            self.codes[name] = f"{pile.pack}.{word}"
            pile.bodies[word] = ""
        pile.codes.update(self.codes)
        for reader in readers:
            text = module_text(reader, self.codes, self._readers, pile.origin)
            pile.bodies[last_of(self.codes[reader.module.name])] = text
        packages = [
            name for name in self.codes if self._readers[name].module.is_package
        ]
        row, body = old_pile(self.codes, packages, pile.project, pile.origin)
        if "patch_old_pile" in pile.bodies:
            pile.patches[0] = row
        else:
            pile.patches.insert(0, row)
        pile.bodies["patch_old_pile"] = body


def _only_defines(reader: PileReader) -> bool:
    """Return whether a module sets nothing of upstream at import, and its names stay as they are.

    Else its import would change upstream, or the object would depend on a call.
    """
    sets_at_import = any(not placement.function for placement in reader.placements)
    return not sets_at_import and not reader.module.rebound_in_functions()


def _has_moved_names(reader: PileReader) -> bool:
    """Whether a name of a module means something else in the pack, and its text cannot say what."""
    return any(node.id != "__file__" for node in moved_names(reader))
