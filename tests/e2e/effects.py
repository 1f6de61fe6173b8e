"""What the thirty-seven rows say of being called, against what they leave when they act.

They leave lines, written by another way than the journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rows_runs import ACTS, SHOWN

from patchkit.analysis.status import read_directory
from patchkit.analysis.status.process_status import CALLED, NEVER_CALLED, NOT_OBSERVABLE

if TYPE_CHECKING:
    from rows_runs import Run

# Rows whose code has no function of its own, or that act before anything is called.
UNSEEN = {
    "constant": "vllm.v1.engine:FINISH_REASON_STRINGS",
    "model-entry": "vllm.model_executor.models.registry:ModelRegistry.models['LlamaForCausalLM']",
    "output-field": "vllm.v1.outputs:ModelRunnerOutput",
}

Words = dict[str, dict[int, dict[str, str]]]


def words_of(one: Run) -> Words:
    """By row and process, what each target says."""
    found: Words = {}
    for process in read_directory(one.journal):
        for patch in process.patches.values():
            is_mine = patch.name in ACTS.keys() | SHOWN
            if is_mine and patch.status == "applied" and not patch.inherited:
                found.setdefault(patch.name, {})[process.pid] = patch.calls
    return found


def assert_true(one: Run) -> None:
    """Compare what the journals say with the lines that the rows have left."""
    found = words_of(one)
    assert found.keys() == ACTS.keys() | SHOWN
    acted = {(line.name, line.pid) for line in one.lines}
    wrong: list[Any] = []
    for name, by_process in found.items():
        for pid, targets in by_process.items():
            wrong += [
                (name, pid, targets)
                for target, word in targets.items()
                if UNSEEN.get(name) == target and word != NOT_OBSERVABLE
            ]
            said = {
                word for target, word in targets.items() if UNSEEN.get(name) != target
            }
            has_acted = (name, pid) in acted
            if name not in SHOWN | UNSEEN.keys() and (CALLED in said) is not has_acted:
                wrong.append((name, pid, has_acted, targets))
            if name not in UNSEEN and NOT_OBSERVABLE in said:
                wrong.append((name, pid, "is observable", targets))
    assert not wrong
    assert [*found["compiled-forward"].values()] == [
        {"vllm.model_executor.models.llama:LlamaMLP.forward": CALLED}
    ]
    for name in ("runner-method", "one-argument"):
        assert CALLED in [
            word for words in found[name].values() for word in words.values()
        ]
    # The process in which vLLM looks at a model has main's rows, and calls none of them; there is
    # none where vLLM's cache has what it has found before.
    helpers = found["validator-edited"].keys() - {one.said["process"]}
    assert len(helpers) <= 1
    for name in ("validator-edited", "validator-wrapped"):
        assert all([*found[name][pid].values()] == [NEVER_CALLED] for pid in helpers)
