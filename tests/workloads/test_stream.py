"""Positions have no end and are shared out among ranks; each names one item."""

import pickle
from itertools import chain, islice

import pytest
import torch

from workloads.stream import Positions, item_at, seeded


def test_ranks_share_out_all_positions() -> None:
    taken = [list(islice(Positions(rank, 3), 40)) for rank in range(3)]
    assert sorted(chain(*taken)) == list(range(120))
    assert taken[1][:3] == [1, 4, 7]


def test_positions_can_be_iterated_again_and_pickled() -> None:
    positions = pickle.loads(pickle.dumps(Positions(1, 2)))
    assert list(islice(positions, 2)) == list(islice(positions, 2)) == [1, 3]


@pytest.mark.parametrize(("rank", "world"), [(2, 2), (-1, 2), (0, 0)])
def test_rank_outside_the_world_is_refused(rank: int, world: int) -> None:
    with pytest.raises(ValueError, match=f"rank {rank}"):
        Positions(rank, world)


def test_each_pass_takes_every_item_once_in_a_new_order() -> None:
    passes = [[item_at(50 * epoch + place, 50) for place in range(50)] for epoch in range(3)]
    assert all(sorted(order) == list(range(50)) for order in passes)
    assert passes[0] != passes[1] != passes[2] != passes[0]


def test_position_far_out_is_as_good_as_any() -> None:
    assert 0 <= item_at(10**12, 50) < 50
    assert item_at(10**12, 1) == 0


def test_position_before_the_start_is_refused() -> None:
    with pytest.raises(IndexError, match="-1"):
        item_at(-1, 50)


def test_seeded_repeats_inside_and_leaves_no_trace_outside() -> None:
    torch.manual_seed(5)
    undisturbed = torch.rand(4)
    torch.manual_seed(5)
    with seeded(9):
        first = torch.rand(3)
    between = torch.rand(2)
    with seeded(9):
        second = torch.rand(3)
    assert torch.equal(first, second)
    assert torch.equal(torch.cat([between, torch.rand(2)]), undisturbed)


def test_seeded_restores_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match="inside"), seeded(9):
        raise RuntimeError("inside")
    assert torch.equal(torch.get_rng_state(), before)
