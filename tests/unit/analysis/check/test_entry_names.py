"""Entries of registries name classes of the pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from analysis.check.released import checked, codes, only_finding, subject

if TYPE_CHECKING:
    from support.packages import World

UP = subject("1.0", mod="MODELS = {'a': 1}\n")
LLAMA = "class MyLlama: ...\nimported = 1\nclass Holder:\n    class Inner: ...\n"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("'pack.llama:MyLlama'", ""),
        ("'pack.llama:MyLama'", "pack.llama has no MyLama; did you mean MyLlama?"),
        ("'pack.llama.MyLama'", "pack.llama has no MyLama; did you mean MyLlama?"),
        ("('pack.llama', 'MyLlama')", ""),
        ("('pack.llama', 'Other')", "pack.llama has no Other"),
        (
            "Lazy(module_name='pack.llama', class_name='MyLama')",
            "pack.llama has no MyLama; did you mean MyLlama?",
        ),
        (
            "'pack.lama:MyLlama'",
            "'pack.lama:MyLlama' names pack.lama, and there is no such module",
        ),
        # Of two words it is not known which is the class.
        ("('pack.llama', 'word', 'Other')", ""),
        ("'other.llama:MyLama'", ""),
        ("'see pack.llama: a text'", ""),
        ("{'path': 'pack.llama'}", ""),
        ("{'path': 'pack.llama', 'class': 'Other'}", "pack.llama has no Other"),
        ("made()", ""),
        # A class or function in a class is no class of a module.
        ("'pack.llama:Holder.Inner'", ""),
        ("'pack.llama.Holder.Inner'", ""),
        (
            "'pack.llama:Holder.Iner'",
            "pack.llama has no Holder.Iner; did you mean Holder?",
        ),
        # A word that is written as no class, and is like none, may be a label.
        ("('pack.llama', 'kernel')", ""),
        ("('pack.llama', 'TRITON')", ""),
        ("('pack.llama', 'attention')", ""),
        ("'pack.requests.total'", ""),
        ("'pack.cache:hits'", ""),
        ("dict(module='pack.llama', architecture='LlamaForCausalLM')", ""),
        ("('LlamaForCausalLM', 'pack.llama')", ""),
        # What an expression makes of a text is not known.
        ("'pack.llamaX:MyLlama'.replace('X', '')", ""),
        ("'pack.llama:MyLlama' if made else 'pack.old:MyLlama'", ""),
        ("'pack.llama:Late'", ""),
        # Each container is one entry.
        (
            "{'a': ('pack.llama', 'MyLlama'), 'b': ('pack.llama', 'MyLama')}",
            "pack.llama has no MyLama; did you mean MyLlama?",
        ),
    ],
)
def test_a_class_that_an_entry_names_is_there(
    world: World, entry: str, message: str
) -> None:
    """A text with both, or the module and the class apart; what is not of the pack is left."""
    change = "Replace('up.mod:MODELS[\\'a\\']', by='entry', unrelated=True)"
    body = (
        "import pack.llama\npack.llama.Late = 1\n"
        "def Lazy(**fields): ...\ndef made(): ...\n"
        f"entry = {entry}\nother = 'pack.x:Y'\n"
    )
    world.pack(
        row("p", "patch_a", change, requires="('up>=1,<2',)"),
        patch_a=body,
        llama=LLAMA,
    )
    report = checked([UP])
    found = [code for code in codes(report) if code == "PK115"]
    assert found == ["PK115"] * bool(message)
    if message:
        assert only_finding(report, "PK115").message == (
            f"entry names a class that is not there: {message}"
        )
