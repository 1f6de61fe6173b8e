"""A row for each part of SGLang: for text to tokens and back, for scheduling and computing."""

from patchkit import Patch, Role, Wrap

_MANAGERS = "sglang.srt.managers"


def _row(name: str, target: str, role: Role) -> Patch:
    return Patch(
        name=name,
        body="patch_counting",
        requires=("sglang>=0.5.10,<0.6",),
        roles={role},
        changes=(Wrap(target, by="counted"),),
        why="It tells in which process a part of SGLang runs.",
        upstream="none: a test",
        sunset="never: a test",
    )


PATCHES = (
    _row(
        "tokenizer-manager",
        f"{_MANAGERS}.tokenizer_manager:TokenizerManager._tokenize_one_request",
        Role.MAIN,
    ),
    _row("scheduler", f"{_MANAGERS}.scheduler:Scheduler.run_batch", Role.ENGINE_CORE),
    _row(
        "model-runner",
        "sglang.srt.model_executor.model_runner:ModelRunner.forward",
        Role.WORKER,
    ),
    _row(
        "detokenizer",
        f"{_MANAGERS}.detokenizer_manager:DetokenizerManager.handle_batch_token_id_out",
        Role.MAIN,
    ),
)
