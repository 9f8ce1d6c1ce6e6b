"""Profiles: a trace that opens, with the parts of a step as ranges, and the costliest operators."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

from torch.autograd.profiler_util import DeviceType  # type: ignore[attr-defined]

from benchmarks.ranks.profiling import TOP, costliest, profile_torch, ranges
from benchmarks.training import PARTS
from tests.benchmarks.small_training import training


def test_the_trace_is_json_with_every_part_of_every_step(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    with training() as small:
        profile_torch(small, 3, trace)
    names = [event.get("name") for event in json.loads(trace.read_text())["traceEvents"]]
    for part in PARTS:
        assert names.count(part) >= 3, part


def test_the_top_operators_come_first_and_are_no_ranges(tmp_path: Path) -> None:
    with training() as small:
        top = profile_torch(small, 2, tmp_path / "trace.json")
    assert 0 < len(top) <= TOP
    assert not {entry["name"] for entry in top} & set(PARTS)
    own = [entry["self_s"] for entry in top]
    assert own == sorted(own, reverse=True)
    assert all(entry["calls"] > 0 for entry in top)
    assert all(0 <= entry["share"] <= 1 for entry in top)
    assert not [entry for entry in top if "#" in entry["name"]], "torch's own ranges neither"


def event(
    name: str, device: DeviceType, host_us: int, device_us: int = 0, user: bool = False
) -> SimpleNamespace:
    """As torch's profiler averages them."""
    return SimpleNamespace(
        key=name,
        count=2,
        device_type=device,
        self_cpu_time_total=host_us,
        self_device_time_total=device_us,
        is_user_annotation=user,
    )


def test_on_a_device_its_kernels_are_told_and_not_what_launched_them() -> None:
    events = [
        event("aten::mm", DeviceType.CPU, 50, 3_000),
        event("copy_kernel", DeviceType.CUDA, 0, 1_000),
        event("gemm_kernel", DeviceType.CUDA, 0, 3_000),
        event("Optimizer.step#SGD.step", DeviceType.CUDA, 0, 9_000, user=True),
        event("forward", DeviceType.CUDA, 0, 9_000),
    ]
    assert costliest(events, on_device=True) == [
        {"name": "gemm_kernel", "calls": 2, "self_s": 0.003, "share": 0.75},
        {"name": "copy_kernel", "calls": 2, "self_s": 0.001, "share": 0.25},
    ]
    assert [entry["name"] for entry in costliest(events, on_device=False)] == ["aten::mm"]


def test_a_mark_opens_the_range_of_its_part() -> None:
    opened: list[str] = []

    def named(name: str) -> nullcontext[None]:
        opened.append(name)
        return nullcontext()

    with ranges(named) as mark:
        for part in PARTS:
            mark(part)
    assert opened == list(PARTS)
