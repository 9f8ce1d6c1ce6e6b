"""Each way of sharing the work really shares it, trains the same, and is told from the others."""

import json
import multiprocessing
from dataclasses import replace
from functools import cache
from multiprocessing.queues import Queue
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.ranks.orders import Orders
from benchmarks.setting import Setting
from benchmarks.techniques import parallel
from benchmarks.techniques.memory import ACCUMULATE4
from benchmarks.techniques.parallel import MP, NO_SYNC, pp, strong, techniques
from benchmarks.techniques.parallel_checks import CHECKS
from benchmarks.techniques.technique import Technique
from benchmarks.training import Place, Training, shared
from benchmarks.training.collectives import Collectives
from benchmarks.training.stages import OnDevices, stage_of
from benchmarks.training.strategies import put
from benchmarks.training.unsuited import UnsuitedError
from tests.benchmarks.machines import hardware
from tests.benchmarks.ranks.test_evidence import process_group
from tests.benchmarks.small_training import BATCH, FEATURES, SMALL, training

PATIENT_S = 120.0  # a limit that no healthy test comes near
STEPS = 4
CUDA = Setting(device="cuda")


class Tied(nn.Module):
    """First and last layer share a weight, as an embedding and its head do."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(FEATURES, FEATURES)
        self.middle = nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.ReLU())
        self.last = nn.Linear(FEATURES, FEATURES)
        self.last.weight = self.first.weight

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.last(self.middle(self.first(inputs)))
        return logits


def row(model: Any) -> list[nn.Module]:
    return [model.first, model.middle, model.last]


TIED = replace(SMALL, model=Tied, pieces=row, optimizer=torch.optim.Adam)
PARAMETERS = 2 * FEATURES**2 + 3 * FEATURES


def evidence_of(trained: Training) -> dict[str, Any]:
    """As an arm gives it, after a first step, the watched one and STEPS - 2 more."""
    orders = Orders(trained, lambda _: trained)
    if trained.place.rank:
        orders.follow()
        return {}
    orders.give({"do": "run", "drain": 0, "steps": 1, "blocks": 1})
    orders.give({"do": "watch"})
    orders.give({"do": "run", "drain": STEPS - 2, "steps": 0, "blocks": 0})
    seen: dict[str, Any] = orders.give({"do": "read_back", "observe": False})["evidence"]
    orders.give({"do": "leave"})
    sent: dict[str, Any] = json.loads(json.dumps(seen))
    return sent | {"losses": seen["losses"][:STEPS]}


def _in_a_rank(folder: str, rank: int, knobs: dict[str, Any], answers: "Queue[Any]") -> None:
    torch.set_num_threads(1)
    # so that a small model has several buckets
    vars(torch.distributed)["_DEFAULT_FIRST_BUCKET_BYTES"] = 64
    with (
        process_group(Path(folder), rank, 2),
        training(TIED, place=Place(rank, rank, 2), **knobs) as trained,
    ):
        answers.put((rank, evidence_of(trained)))


@cache
def evidence(**knobs: Any) -> dict[str, Any]:
    """Of rank 0 of two, or of the only one."""
    if Setting(**knobs).world_size == 1:
        with training(TIED, **knobs) as trained:
            return evidence_of(trained)
    context = multiprocessing.get_context("fork")
    answers: Queue[Any] = context.Queue()
    with TemporaryDirectory() as folder:
        ranks = [
            context.Process(target=_in_a_rank, args=(folder, rank, knobs, answers))
            for rank in range(2)
        ]
        for process in ranks:
            process.start()
        try:
            seen: dict[int, dict[str, Any]] = dict(answers.get(timeout=PATIENT_S) for _ in ranks)
        finally:
            for process in ranks:
                process.join(timeout=PATIENT_S)
                process.kill()
    return seen[0]


SHARED: dict[str, dict[str, Any]] = {
    "ddp2": {"parallel": "ddp2"},
    "strong": {"parallel": "ddp2", "batch": 0.5},
    "static_graph": {"parallel": "ddp2", "static_graph": True},
    "tuned": {"parallel": "ddp2", "bucket_mb": 100, "static_graph": True, "bucket_view": True},
    "accumulate": {"parallel": "ddp2", "accumulate": 4},
    "no_sync": {"parallel": "ddp2", "accumulate": 4, "no_sync": True},
    "fsdp2": {"parallel": "fsdp2"},
    "zero2": {"parallel": "zero2"},
    "pp2": {"parallel": "pp2", "accumulate": 4},
}
EVERY = {"single": {}, **SHARED}
forked = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="two gloo ranks are forked"
)


def refused(setting: Setting, seen: dict[str, Any]) -> set[str]:
    """Names of the checks that do not believe the evidence."""
    checks = {**CHECKS, **ACCUMULATE4.checks}
    findings = {name: check(setting, seen) for name, check in checks.items()}
    return {name for name, finding in findings.items() if finding and not finding[0]}


@forked
@pytest.mark.parametrize("name", EVERY)
def test_what_ranks_read_back_convinces_every_check(name: str) -> None:
    assert refused(Setting(**EVERY[name]), evidence(**EVERY[name])) == set()


@forked
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("other", EVERY)
def test_evidence_of_another_setting_is_refused(name: str, other: str) -> None:
    if name == other or {name, other} == {"ddp2", "strong"}:  # the batch is another check's
        return
    assert refused(Setting(**EVERY[name]), evidence(**EVERY[other]))


@forked
@pytest.mark.parametrize("name", ["strong", "pp2"])
def test_the_same_batch_shared_out_gives_the_same_losses(name: str) -> None:
    assert evidence(**SHARED[name])["losses"] == pytest.approx(evidence()["losses"], rel=1e-5)


@forked
@pytest.mark.parametrize(
    "name", ["static_graph", "tuned", "accumulate", "no_sync", "fsdp2", "zero2"]
)
def test_what_only_moves_memory_or_messages_trains_as_ddp_does(name: str) -> None:
    assert evidence(**SHARED[name])["losses"] == pytest.approx(
        evidence(**SHARED["ddp2"])["losses"], rel=1e-5
    )


@forked
def test_no_sync_averages_once_a_step_instead_of_once_a_micro_batch() -> None:
    def all_reduces(name: str) -> int:
        return int(evidence(**SHARED[name])["collectives"]["allreduce_"])

    assert all_reduces("accumulate") == 4 * all_reduces("no_sync") > 0


@forked
def test_shards_and_stages_are_what_each_rank_keeps() -> None:
    ddp, fsdp, zero, pipeline = (
        evidence(**SHARED[name]) for name in ("ddp2", "fsdp2", "zero2", "pp2")
    )
    assert ddp["parameters_by_rank"] == [PARAMETERS] * 2
    assert sum(fsdp["parameters_by_rank"]) == PARAMETERS
    assert sum(zero["updated_by_rank"]) == PARAMETERS
    assert sum(fsdp["state_bytes_by_rank"]) < 1.2 * ddp["state_bytes_by_rank"][0]
    assert sum(zero["state_bytes_by_rank"]) < 1.2 * ddp["state_bytes_by_rank"][0]
    twice = FEATURES**2  # the weight that the first and the last stage share
    assert sum(pipeline["parameters_by_rank"]) == PARAMETERS + twice
    assert pipeline["parameter_spread"] == 0.0


# In one process


def test_pieces_are_shared_out_in_order_and_evenly() -> None:
    assert stage_of(7, 2) == [0, 0, 0, 0, 1, 1, 1]
    assert stage_of(4, 4) == [0, 1, 2, 3]
    with pytest.raises(UnsuitedError, match="1 pieces cannot be cut in 2 stages"):
        stage_of(1, 2)


def test_a_weight_shared_by_two_pieces_keeps_both_on_one_device() -> None:
    model = Tied()
    devices = [torch.device("cpu"), torch.device("meta")]
    cut = OnDevices([model.first, model.last, model.middle], devices)
    assert [device.type for device in cut.devices] == ["cpu", "cpu", "meta"]
    assert model.first.weight is model.last.weight
    assert cut(torch.randn(BATCH, FEATURES)).device.type == "meta"
    assert shared.stages(cut) == 2


def test_layers_on_devices_compute_what_the_model_does() -> None:
    model, batch = Tied(), torch.randn(BATCH, FEATURES)
    cut = OnDevices(row(model), [torch.device("cpu")] * 2)
    assert torch.equal(cut(batch), model(batch))


@pytest.mark.parametrize("name", ["pp2", "mp"])
def test_a_model_that_nobody_knows_how_to_cut_is_a_skip_with_a_reason(name: str) -> None:
    with pytest.raises(UnsuitedError, match=f"{name} cuts the model, .* does not say where"):
        put(SMALL, nn.Bilinear(1, 1, 1), Setting(parallel=name), Place(), torch.device("cpu"))


def test_without_ranks_nothing_is_exchanged() -> None:
    with Collectives() as counted:
        torch.ones(2).sum()
    assert not counted.counts


# Needs


def test_every_one_runs_on_two_gpus() -> None:
    for technique in techniques(8):
        setting = technique.apply(technique.baseline("cuda"))
        assert technique.needs(hardware(gpus=2), setting) is None


def test_one_device_is_not_enough() -> None:
    def why(technique: Technique, machine: Any, setting: Setting) -> str | None:
        return technique.needs(machine, technique.apply(setting))

    assert why(MP, hardware(gpus=1), CUDA) == "mp needs 2 GPUs, found 1"
    assert why(MP, hardware(gpus=2), Setting()) == "mp needs 2 GPUs, cpu is none"
    assert why(pp(2), hardware(cores=1), Setting()) == "pp2 needs 2 CPU cores, found 1"
    assert why(parallel.fsdp(4), hardware(gpus=2), CUDA) == "fsdp4 needs 4 GPUs, found 2"


def test_a_pipeline_does_without_a_scaler() -> None:
    setting = pp(2).apply(Setting(precision="amp_fp16"))
    assert "GradScaler" in (pp(2).needs(hardware(), setting) or "")


def test_strong_scaling_keeps_the_global_batch() -> None:
    setting = strong(2).apply(Setting())
    assert setting.batch * setting.data_parallel == 1.0
    assert Setting(parallel="pp2").data_parallel == 1


def test_no_sync_is_compared_with_accumulating_as_often() -> None:
    assert NO_SYNC.baseline("cpu") == Setting(parallel="ddp2", accumulate=4)
