"""Every workload of the catalog has its published size at `full`, and learns at `tiny`."""

from itertools import islice
from unittest.mock import Mock

import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader

from workloads import CATALOG, SCALES, Source, Workload
from workloads.images import OUTPUTS
from workloads.stream import Positions

PARAMETERS = {
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "vit_b_16": 86_567_656,
    "bert_base": 109_482_240 + 4 * 769,  # with its head of four classes
    "gpt2": 124_439_808,
}
STEPS = {"resnet18": 12, "resnet50": 12, "vit_b_16": 16, "bert_base": 30, "gpt2": 16}

every_workload = pytest.mark.parametrize("workload", CATALOG.values(), ids=list(CATALOG))


@every_workload
def test_full_size_is_the_published_one(workload: Workload) -> None:
    with torch.device("meta"):
        model = workload.build_model(workload.scale("full"))
    assert sum(p.numel() for p in model.parameters()) == PARAMETERS[workload.name]


@every_workload
def test_scales_are_the_three_in_order(workload: Workload) -> None:
    assert tuple(workload.scales) == SCALES
    batches = [workload.scale(name).batch for name in SCALES]
    assert batches == sorted(batches)


@every_workload
@pytest.mark.parametrize("name", SCALES)
def test_units_are_what_a_sample_holds(workload: Workload, name: str) -> None:
    scale = workload.scale(name)
    tokens = scale.data.get("length", 1)
    assert scale.units == {"images": 1, "sequences": 1, "tokens": tokens}[workload.unit]


@every_workload
@pytest.mark.parametrize("name", SCALES)
def test_model_takes_what_the_data_gives(workload: Workload, name: str) -> None:
    """Shapes alone, on the meta device; the model's limits against the data's arguments."""
    scale = workload.scale(name)
    with torch.device("meta"):
        model = workload.build_model(scale).eval()
        if workload.unit == "images":
            side = scale.data["pixels"]
            batch = torch.empty(2, 3, side, side)
            expected: tuple[int, ...] = (2, OUTPUTS)
        else:
            batch = torch.empty(2, scale.data["length"], dtype=torch.int64)
            vocabulary = scale.data["vocabulary"]
            assert model.get_parameter(_embedding(workload)).shape[0] == vocabulary
            classes = scale.data.get("chains")
            expected = (2, classes) if classes else (*batch.shape, vocabulary)
        assert model(batch).shape == expected


@every_workload
def test_attention_is_declared_where_the_model_calls_it(
    workload: Workload, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = Mock(wraps=functional.scaled_dot_product_attention)
    monkeypatch.setattr(functional, "scaled_dot_product_attention", called)
    scale = workload.scale("tiny")
    loader = DataLoader(workload.build_data(scale, source), scale.batch, sampler=Positions())
    inputs, _ = next(iter(loader))
    workload.build_model(scale)(inputs)
    assert workload.attention == called.called


def _embedding(workload: Workload) -> str:
    prefix = "bert." if workload.name == "bert_base" else ""
    return f"{prefix}token_embedding.weight"


@every_workload
def test_loss_falls_on_generated_data(workload: Workload, source: Source) -> None:
    scale = workload.scale("tiny")
    workload.prepare(scale, source)
    torch.manual_seed(0)
    model = workload.build_model(scale)
    optimizer = workload.build_optimizer(model.parameters(), scale)
    loss_of = workload.build_loss()
    loader = DataLoader(workload.build_data(scale, source), scale.batch, sampler=Positions())
    losses = []
    for inputs, targets in islice(loader, STEPS[workload.name]):
        loss = loss_of(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-3:]) / 3 < 0.9 * losses[0]


@every_workload
def test_optimizer_takes_an_implementation(workload: Workload) -> None:
    scale = workload.scale("tiny")
    with torch.device("meta"):
        parameters = list(workload.build_model(scale).parameters())
    optimizer = workload.build_optimizer(parameters, scale, foreach=True)
    held = [p for group in optimizer.param_groups for p in group["params"]]
    assert {id(p) for p in held} == {id(p) for p in parameters}
    assert len(held) == len(parameters)
    assert all(
        group["foreach"] is True and group["lr"] == scale.learning_rate
        for group in optimizer.param_groups
    )
