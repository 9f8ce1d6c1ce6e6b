"""Who decodes, shrinks and augments images is seen, and evidence that lies is refused."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor, nn

from benchmarks.cell import Cell
from benchmarks.guards import loss_tolerance
from benchmarks.ranks.evidence import read_back
from benchmarks.setting import Setting
from benchmarks.techniques.preprocessing import (
    DECODE_TORCHVISION,
    DEVICE_AUGMENT,
    DEVICE_DECODE,
    PRE_RESIZED,
    TECHNIQUES,
)
from benchmarks.techniques.technique import Technique
from benchmarks.training import Place, Training
from tests.benchmarks.machines import hardware
from workloads import CATALOG, Scale, Source, Workload

# torchvision 0.29 says so at every call: TorchCodec is to replace it
pytestmark = pytest.mark.filterwarnings("ignore:The image decoding and encoding")

PIXELS = 16


class Flat(nn.Module):
    """One linear layer over all pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3 * PIXELS**2, 10)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.layer(images.flatten(1))
        return logits


SCALE = Scale(batch=4, learning_rate=1e-4, model={}, data={"pixels": PIXELS, "count": 20})
FLAT: Workload = replace(CATALOG["resnet18"], model=Flat, scales={"tiny": SCALE})


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return Source(cache=tmp_path_factory.mktemp("cache"))


@contextmanager
def training(source: Source, **knobs: Any) -> Iterator[Training]:
    built = Training(FLAT, SCALE, source, Setting(**knobs), Place())
    try:
        yield built
    finally:
        del built.batches
        gc.collect()


def evidence_of(source: Source, setting: Setting, steps: int = 3) -> dict[str, Any]:
    knobs = {name: value for name, value in setting.to_dict().items() if name != "device"}
    with training(source, **knobs) as trained:
        for _ in range(steps):
            trained.step()
        return read_back(trained)


def findings(technique: Technique, setting: Setting, evidence: dict[str, Any]) -> dict[str, bool]:
    found = {name: check(setting, evidence) for name, check in technique.checks.items()}
    return {name: finding[0] for name, finding in found.items() if finding}


ON_CPU = [technique for technique in TECHNIQUES if technique is not DEVICE_DECODE]


@pytest.mark.parametrize("technique", ON_CPU, ids=lambda t: "-".join(o.name for o in (*t.on, t)))
def test_the_row_is_believed_and_the_row_without_it_is_not(
    technique: Technique, source: Source
) -> None:
    baseline = technique.baseline("cpu")
    candidate = technique.apply(baseline)
    plain, changed = evidence_of(source, baseline), evidence_of(source, candidate)
    assert all(findings(technique, baseline, plain).values())
    assert all(findings(technique, candidate, changed).values())
    assert not all(findings(technique, candidate, plain).values())
    assert not all(findings(technique, baseline, changed).values())
    ours, theirs = (sum(evidence["losses"]) for evidence in (changed, plain))
    cell = Cell("resnet18", (technique,), baseline=baseline, device="cpu", on=technique.on)
    assert abs(ours / theirs - 1) <= loss_tolerance(cell)


def test_marks_count_what_the_device_preprocesses_as_data(source: Source) -> None:
    parts: list[str] = []
    with training(source, augment="device") as trained:
        trained.step(parts.append)
    assert parts[:3] == ["data", "copy", "data"]


def test_each_batch_and_each_rank_is_augmented_for_itself(source: Source) -> None:
    def batch(rank: int, number: int) -> Tensor:
        built = Training(FLAT, SCALE, source, Setting(augment="device"), Place())
        assert built.finish
        built.finish._place = Place(rank, rank, 2)
        same = next(built.batches)
        for _ in range(number):
            built.to_device(same)
        return built.to_device(same)[0]

    first = batch(0, 0)
    assert first.equal(batch(0, 0))
    assert not first.equal(batch(0, 1))
    assert not first.equal(batch(1, 0))


def test_of_data_without_images_nothing_is_said() -> None:
    evidence = {"images": None, "augmented_on": None}
    for technique in TECHNIQUES:
        assert findings(technique, Setting(), evidence) == {}


def test_a_decoder_that_did_not_run_is_not_believed() -> None:
    images = {"pil": 8, "torchvision": 0, "device": 0, "resized_files": 0, "shorter_side": 375}
    evidence: dict[str, Any] = {"images": images, "augmented_on": None}
    cuda = DEVICE_DECODE.apply(Setting(device="cuda"))
    assert findings(DEVICE_DECODE, cuda, evidence) == {"decoder": False, "augmented_on": False}
    images |= {"pil": 0, "device": 8}
    evidence["augmented_on"] = "cuda"
    assert findings(DEVICE_DECODE, cuda, evidence) == {"decoder": True, "augmented_on": True}
    evidence["augmented_on"] = "cpu"
    assert findings(DEVICE_DECODE, cuda, evidence) == {"decoder": True, "augmented_on": False}


def test_images_that_are_not_small_are_not_resized() -> None:
    images = {"resized_files": 8, "shorter_side": 375, "stored_side": 256}
    images |= {"pil": 8, "torchvision": 0, "device": 0}
    resized = PRE_RESIZED.apply(Setting())
    assert findings(PRE_RESIZED, resized, {"images": images}) == {
        "decoder": True,
        "image_size": False,
    }


def test_nvjpeg_needs_cuda() -> None:
    for device in ("cpu", "mps"):
        assert DEVICE_DECODE.needs(hardware(), Setting(device=device)) == (
            f"device_decode needs a GPU with nvJPEG, {device} has none"
        )
    assert DEVICE_DECODE.needs(hardware(gpus=1), Setting(device="cuda")) is None


@pytest.mark.parametrize("technique", [DECODE_TORCHVISION, DEVICE_AUGMENT, PRE_RESIZED])
def test_other_data_may_not_know_how(technique: Technique, tmp_path: Path) -> None:
    def impossible(workload: str) -> str | None:
        return Cell(workload, (technique,), Setting(), "cpu").impossible(hardware())

    assert impossible("resnet18") is None
    assert impossible("gpt2") == f"{technique.name} is for image workloads, gpt2 is none"
    assert impossible(f"{tmp_path}/mine.py:mine") == (
        f"{technique.name} needs a workload of the catalog, mine is none"
    )
