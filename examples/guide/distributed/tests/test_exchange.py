"""What the pack promises, in one process: a group of one rank."""

import pytest

from patchkit import applied


@pytest.mark.vllm
@pytest.mark.patched("exchange-between-ranks")
def test_a_group_can_exchange_until_the_model_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each rank gets its slice; the group of the exchange ends with the model's own."""
    import torch
    from vllm.distributed import destroy_model_parallel
    from vllm.distributed.parallel_state import GroupCoordinator

    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    coordinator = GroupCoordinator([[0]], 0, "gloo", use_device_communicator=False)
    made, new_group = [], torch.distributed.new_group

    def recorded(*args: object, **kwargs: object) -> object:
        made.append(new_group(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(torch.distributed, "new_group", recorded)
    for _ in range(2):
        assert coordinator.all_to_all(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    (group,) = made
    assert torch.distributed.get_backend(group) == "gloo"
    destroy_model_parallel()
    with pytest.raises(ValueError, match="group"):
        torch.distributed.get_backend(group)
    torch.distributed.destroy_process_group()


@pytest.mark.vllm
def test_nothing_is_left_of_it() -> None:
    """After the block, upstream's class is as it was."""
    from vllm.distributed.parallel_state import GroupCoordinator

    with applied("exchange-between-ranks"):
        assert hasattr(GroupCoordinator, "all_to_all")
    assert not hasattr(GroupCoordinator, "all_to_all")
