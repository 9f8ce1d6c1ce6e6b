"""A step does what a practitioner would write by hand, under every setting a CPU can try."""

from dataclasses import replace
from itertools import islice

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from benchmarks.ranks.evidence import read_back
from benchmarks.setting import Setting
from benchmarks.training import KEPT_LOSSES, PARTS, Place, device_of
from benchmarks.training.loading import load_batches
from benchmarks.training.strategies import parallelise
from tests.benchmarks.small_training import BATCH, CLASSES, SMALL, Items, Model, training
from workloads import Source


def by_hand(steps: int, seed: int = 0) -> tuple[list[float], list[Tensor]]:
    """Losses and final parameters of plain PyTorch: no loader, no autocast, no scaler."""
    torch.manual_seed(seed)
    model, items = Model(), Items(Source(None))  # type: ignore[arg-type]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(steps):
        batch = [items[step * BATCH + place] for place in range(BATCH)]
        inputs = torch.stack([item for item, _ in batch])
        targets = torch.stack([target for _, target in batch])
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses, list(model.parameters())


# The plain setting


def test_fp32_trains_exactly_as_plain_pytorch_does() -> None:
    losses, parameters = by_hand(steps=5)
    with training() as trained:
        for _ in range(5):
            trained.step()
        assert trained.losses() == losses
        for ours, theirs in zip(trained.module.parameters(), parameters, strict=True):
            assert torch.equal(ours, theirs)


def test_the_first_losses_are_kept_and_no_more() -> None:
    losses, _ = by_hand(steps=KEPT_LOSSES + 5)
    with training() as trained:
        for _ in range(KEPT_LOSSES + 5):
            trained.step()
        assert trained.losses() == losses[:KEPT_LOSSES]
        assert trained.steps == KEPT_LOSSES + 5


def test_losses_fall() -> None:
    with training() as trained:
        for _ in range(KEPT_LOSSES):
            trained.step()
        losses = trained.losses()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("seed", [0, 7])
def test_the_seed_alone_decides_the_initial_model(seed: int) -> None:
    with training(seed=seed) as trained:
        trained.step()
        assert trained.losses() == by_hand(steps=1, seed=seed)[0]


def test_parts_of_a_step_are_marked_as_they_begin() -> None:
    seen: list[tuple[str, bool, bool]] = []
    with training() as trained:
        weight = next(trained.module.parameters())
        before = weight.detach().clone()

        def moved() -> bool:
            return not weight.equal(before)

        trained.step(lambda part: seen.append((part, weight.grad is not None, moved())))
        trained.step(lambda part: seen.append((part, weight.grad is not None, moved())))
    one = ["data", "copy", "optimizer", "forward", "backward", "optimizer"]
    assert [part for part, _, _ in seen] == one * 2
    assert set(one) == set(PARTS)
    assert [has_gradient for _, has_gradient, _ in seen[:6]] == [False] * 5 + [True]
    assert [has_moved for _, _, has_moved in seen] == [False] * 6 + [True] * 6


@pytest.mark.parametrize("pieces", [2, 4])
def test_accumulated_gradients_are_those_of_the_whole_batch(pieces: int) -> None:
    losses, parameters = by_hand(steps=4)
    with training(accumulate=pieces) as trained:
        for _ in range(4):
            trained.step()
        assert trained.losses() == pytest.approx(losses)
        for ours, theirs in zip(trained.module.parameters(), parameters, strict=True):
            torch.testing.assert_close(ours, theirs)


# Precision


def dtype_in(precision: str) -> tuple[torch.dtype, torch.dtype, torch.dtype]:
    """Of a layer's output, of its weight, and of its gradient."""
    seen: list[torch.dtype] = []
    with training(precision=precision) as trained:
        layer = next(m for m in trained.module.modules() if isinstance(m, nn.Linear))
        layer.register_forward_hook(lambda _, __, output: seen.append(output.dtype))
        trained.step()
        assert layer.weight.grad is not None
        return seen[0], layer.weight.dtype, layer.weight.grad.dtype


@pytest.mark.parametrize(
    ("precision", "computed"),
    [("fp32", torch.float32), ("amp_bf16", torch.bfloat16), ("amp_fp16", torch.float16)],
)
def test_layers_compute_in_the_precision_and_weights_stay_fp32(
    precision: str, computed: torch.dtype
) -> None:
    assert dtype_in(precision) == (computed, torch.float32, torch.float32)


@pytest.mark.parametrize("precision", ["amp_bf16", "amp_fp16"])
def test_mixed_precision_follows_the_losses_of_fp32(precision: str) -> None:
    losses, _ = by_hand(steps=8)
    with training(precision=precision) as trained:
        for _ in range(8):
            trained.step()
        assert trained.losses() == pytest.approx(losses, rel=0.05)


@pytest.mark.parametrize(("precision", "scaled"), [("fp32", 0), ("amp_bf16", 0), ("amp_fp16", 1)])
def test_only_fp16_scales_its_loss(precision: str, scaled: bool) -> None:
    with training(precision=precision) as trained:
        assert trained.scaler.is_enabled() == scaled


def test_gradients_that_overflow_fp16_skip_the_step_and_are_counted() -> None:
    def steep(logits: Tensor, targets: Tensor) -> Tensor:
        return 10 * nn.functional.cross_entropy(logits, targets)

    with training(replace(SMALL, loss=steep), precision="amp_fp16") as trained:
        stood_still = 0
        for _ in range(8):
            before = [p.detach().clone() for p in trained.module.parameters()]
            trained.step()
            after = trained.module.parameters()
            stood_still += all(map(torch.equal, before, after))
        assert stood_still > 0
        assert read_back(trained)["scaler_skipped_steps"] == stood_still


# Batches


class Numbers(Dataset[int]):
    def __getitem__(self, position: int) -> int:
        return position


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_follow_the_stream_without_end(workers: int) -> None:
    loader = load_batches(Numbers(), 3, Setting(num_workers=workers), Place())
    batches = [batch.tolist() for batch in islice(loader, 40)]
    assert batches == [[3 * n, 3 * n + 1, 3 * n + 2] for n in range(40)]


def test_ranks_share_the_stream_without_overlap_or_gap() -> None:
    world = 3
    seen: list[int] = []
    for rank in range(world):
        loader = load_batches(Numbers(), 4, Setting(), Place(rank, rank, world))
        seen += [position for batch in islice(loader, 5) for position in batch.tolist()]
    assert sorted(seen) == list(range(world * 4 * 5))


def test_loader_workers_bring_the_same_batches_as_none() -> None:
    losses, _ = by_hand(steps=5)
    with training(num_workers=2) as trained:
        for _ in range(5):
            trained.step()
        assert trained.losses() == losses


def test_workers_hold_the_batches_ready_that_are_drained_before_a_block() -> None:
    setting = Setting(num_workers=2, prefetch_factor=3)
    loader = load_batches(Numbers(), 1, setting, Place())
    assert loader.num_workers * (loader.prefetch_factor or 0) == setting.prefetched_batches == 6


def test_units_of_a_step_count_every_sample_of_every_rank() -> None:
    with training() as alone, training(place=Place(1, 1, 3)) as one_of_three:
        assert alone.units_per_step == BATCH * 5  # of 5 tokens each
        assert one_of_three.units_per_step == 3 * BATCH * 5


# Where


def test_a_rank_learns_its_place_from_the_elastic_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}.items():
        monkeypatch.setenv(name, value)
    assert Place.from_variables() == Place(rank=5, local_rank=1, world=8)


def test_without_an_agent_it_is_the_only_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert Place.from_variables() == Place(rank=0, local_rank=0, world=1)


def test_each_rank_of_a_machine_has_a_device_of_its_own() -> None:
    assert device_of(Setting(device="cuda"), Place(5, 1, 8)) == torch.device("cuda", 1)
    assert device_of(Setting(), Place(1, 1, 2)) == torch.device("cpu")


def test_a_single_training_is_not_wrapped() -> None:
    model = Model()
    assert parallelise(model, Setting(), torch.device("cpu")) is model


def test_the_model_sees_what_the_loader_brings() -> None:
    with training() as trained:
        inputs, targets = trained.to_device(next(trained.batches))
        assert trained.model(inputs).shape == (BATCH, CLASSES)
        assert targets.shape == (BATCH,)
