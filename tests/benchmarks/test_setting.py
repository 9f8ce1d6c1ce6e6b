"""A setting is plain data: its defaults are the plain setting, and it survives JSON."""

import json
from dataclasses import FrozenInstanceError

import pytest

from benchmarks.setting import Setting


def test_the_defaults_are_the_plain_setting() -> None:
    plain = Setting()
    assert (plain.device, plain.precision, plain.num_workers, plain.parallel) == (
        "cpu",
        "fp32",
        0,
        "single",
    )


def test_a_setting_survives_json() -> None:
    setting = Setting(device="cuda", num_workers=4, precision="amp_fp16", parallel="ddp8")
    assert Setting.from_dict(json.loads(json.dumps(setting.to_dict()))) == setting


def test_what_another_revision_knows_is_ignored_and_what_it_lacks_is_plain() -> None:
    assert Setting.from_dict({"num_workers": 2, "of_tomorrow": True}) == Setting(num_workers=2)


def test_a_setting_cannot_be_changed_and_can_be_a_key() -> None:
    setting = Setting()
    with pytest.raises(FrozenInstanceError):
        setting.device = "cuda"  # type: ignore[misc]
    assert len({setting, Setting(), Setting(num_workers=2)}) == 2


@pytest.mark.parametrize(
    ("parallel", "ranks"), [("single", 1), ("dp", 1), ("ddp2", 2), ("ddp16", 16)]
)
def test_only_ddp_has_more_than_one_rank(parallel: str, ranks: int) -> None:
    assert Setting(parallel=parallel).world_size == ranks


def test_each_worker_holds_its_share_of_batches_ready() -> None:
    assert Setting(num_workers=4, prefetch_factor=3).prefetched_batches == 12
    assert Setting(num_workers=0).prefetched_batches == 0
