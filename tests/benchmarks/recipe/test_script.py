"""The printed training loop: it trains as the suite does, and holds a line for every knob."""

import ast
import math
import re
from pathlib import Path

import pytest

from benchmarks.engine.launcher import ROOT
from benchmarks.recipe.check import run_script
from benchmarks.recipe.script import WARM_UP_STEPS, Script, unwritable, write
from benchmarks.setting import Setting
from benchmarks.training import Place, Training
from tests.benchmarks.recipe import linear
from workloads import SCALES, Source

WORKLOAD = f"{Path(linear.__file__).relative_to(ROOT)}:LINEAR"
STEPS = 2


def script(setting: Setting, batch: int = linear.BATCH, **given: object) -> Script:
    fields: dict[str, object] = {
        "workload": WORKLOAD,
        "scale": SCALES[0],
        "unit": "tokens",
        "units_per_step": linear.BATCH * linear.SCALE.units,
        "batch": batch,
        "setting": setting,
        "source": "Path()",
        "threads": 1,
        "title": "small.",
        "file": "recipe_small.py",
    }
    return Script(**(fields | given))  # type: ignore[arg-type]


def losses_by_the_suite(setting: Setting) -> list[float]:
    """Of one rank that has the whole batch: ranks that share it have the same mean."""
    plain = Setting(precision=setting.precision, optimizer=setting.optimizer)
    training = Training(linear.LINEAR, linear.SCALE, Source(Path()), plain, Place())
    for _ in range(WARM_UP_STEPS + STEPS):
        training.step()
    return training.losses()


def losses_by(said: str) -> list[float]:
    (line,) = re.findall(r"^first losses: (.*)$", said, re.MULTILINE)
    return [float(loss) for loss in line.split(", ")]


@pytest.mark.parametrize(
    ("knobs", "batch", "exact"),
    [
        (
            {"num_workers": 2, "prefetch_factor": 4, "optimizer": "fused"}
            | {"variables": (("RECIPE_TEST", "1"),)},
            4,
            True,
        ),
        ({"precision": "amp_fp16"}, 4, True),  # with its GradScaler
        ({"parallel": "ddp2", "batch": 0.5, "bucket_view": True, "static_graph": True}, 2, False),
    ],
    ids=["workers2-fused-variables", "fp16", "ddp2"],
)
def test_the_script_trains_as_the_suite_does(
    knobs: dict[str, object], batch: int, exact: bool, tmp_path: Path
) -> None:
    setting = Setting(**knobs)  # type: ignore[arg-type]
    path = tmp_path / "recipe_small.py"
    printed = script(setting, batch)
    path.write_text(write(printed))
    said = run_script(path, printed, STEPS)
    expected = losses_by_the_suite(setting)
    assert losses_by(said) == pytest.approx(expected, rel=1e-7 if exact else 1e-4)
    found = re.search(r"^([\d.e+-]+) steps/s, ([\d.,e+-]+) tokens/s$", said, re.MULTILINE)
    assert found is not None
    steps_per_s, tokens_per_s = (float(number.replace(",", "")) for number in found.groups())
    assert math.isclose(tokens_per_s, steps_per_s * printed.units_per_step, rel_tol=0.01)


@pytest.mark.parametrize(
    ("knobs", "lines"),
    [
        ({"pin_memory": True}, ["pin_memory=True,"]),
        ({"non_blocking": True}, ["inputs = inputs.to(device, non_blocking=True)"]),
        ({"copy_stream": True}, ["def copied_ahead(loader, device):"]),
        ({"precision": "tf32"}, ['torch.set_float32_matmul_precision("high")']),
        ({"precision": "amp_fp16"}, ["scaler.scale(loss).backward()", "scaler.update()"]),
        (
            {"memory_format": "channels_last"},
            [
                "model = model.to(memory_format=torch.channels_last)",
                "inputs = inputs.to(memory_format=torch.channels_last)",
            ],
        ),
        ({"compile": "default"}, ["model = torch.compile(model)"]),
        ({"compile": "max-autotune"}, ['model = torch.compile(model, mode="max-autotune")']),
        ({"attention": "flash"}, ["with sdpa_kernel(SDPBackend.FLASH_ATTENTION):"]),
        (
            {"optimizer": "fused"},
            ["optimizer = workload.build_optimizer(model.parameters(), scale, fused=True)"],
        ),
        ({"parallel": "dp"}, ["model = torch.nn.DataParallel(model)"]),
        (
            {"parallel": "ddp4", "bucket_mb": 50},
            [
                "model = DistributedDataParallel(model, device_ids=[device], bucket_cap_mb=50)",
                "torchrun --nproc-per-node 4 recipe_small.py 100",
            ],
        ),
        (
            {"augment": "device", "decode": "device"},
            [
                "dataset = workload.build_data(scale, Source(Path()), decode='device', "
                "augment='device')",
                "collate_fn=dataset.collate,  # files are of unequal length: a list of them",
                "inputs = dataset.finish(inputs, device, step)  # crop, flip, normalise",
            ],
        ),
        ({"variables": (("LD_PRELOAD", "x.so"),)}, ["'LD_PRELOAD': 'x.so',"]),
    ],
)
def test_each_knob_is_a_line_that_a_plain_loop_does_not_have(
    knobs: dict[str, object], lines: list[str]
) -> None:
    plain = [line.strip() for line in write(script(Setting(device="cuda"))).splitlines()]
    text = write(script(Setting(device="cuda", **knobs)))  # type: ignore[arg-type]
    ast.parse(text)
    written = [line.strip() for line in text.splitlines()]
    for line in lines:
        assert line in written
        assert line not in plain


def test_a_cpu_script_has_its_threads_and_nothing_of_a_gpu() -> None:
    text = write(script(Setting(), threads=3))
    assert "torch.set_num_threads(3)" in text
    assert "cuda" not in text
    assert "accelerator" not in text


@pytest.mark.parametrize(
    ("knobs", "named"),
    [
        ({"checkpointing": True}, "checkpointing=True"),
        ({"parallel": "pp2"}, "parallel=pp2"),
        ({"copy_stream": True, "decode": "device"}, "copy_stream=True beside decode=device"),
        ({"precision": "bf16"}, "precision=bf16"),
        ({"optimizer": "for_loop"}, "optimizer=for_loop"),
    ],
)
def test_what_has_no_line_is_named_and_never_written(knobs: dict[str, object], named: str) -> None:
    setting = Setting(**knobs)  # type: ignore[arg-type]
    assert unwritable(setting) == named
    with pytest.raises(ValueError, match=named):
        write(script(setting))
