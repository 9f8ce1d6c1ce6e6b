"""Peaks by exact name and dtype, dense; and the share of them that a training takes."""

import pytest

from benchmarks.peaks import DTYPES, PEAKS, mfu, peak, source


def test_peaks_are_dense_and_by_dtype() -> None:
    assert peak("NVIDIA A100-SXM4-80GB", "bf16") == 312e12
    assert peak("NVIDIA A100-SXM4-80GB", "fp32") == 19.5e12
    assert peak("NVIDIA H200", "bf16") == 989.5e12
    assert peak("Tesla T4", "fp16") == 65e12


def test_a_name_is_exact() -> None:
    assert peak("NVIDIA H100 PCIe", "bf16") != peak("NVIDIA H100 80GB HBM3", "bf16")
    assert peak("A100-SXM4-40GB", "bf16") == 312e12  # as drivers before 470 say it
    assert peak("NVIDIA A10G", "bf16") is None  # not an A10
    assert peak("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "bf16") is None
    assert source("NVIDIA A10G") is None


def test_a_dtype_that_a_device_lacks_has_no_peak() -> None:
    assert peak("Tesla V100-SXM2-16GB", "bf16") is None
    assert peak("Tesla T4", "tf32") is None
    with pytest.raises(ValueError, match="amp_bf16"):
        peak("Tesla T4", "amp_bf16")


@pytest.mark.parametrize("name", PEAKS)
def test_every_entry_has_a_source_and_is_in_order(name: str) -> None:
    assert source(name)
    peaks = [value for dtype in DTYPES if (value := peak(name, dtype)) is not None]
    assert peaks == sorted(peaks)  # fp32 <= tf32 <= bf16 <= fp16
    assert all(1e12 < value < 1e16 for value in peaks)


def test_mfu_is_the_share_of_all_devices_peak() -> None:
    assert mfu(5e12, 0.1, 1, 100e12) == pytest.approx(0.5)
    assert mfu(5e12, 0.1, 2, 100e12) == pytest.approx(0.25)


def test_mfu_is_unknown_where_anything_is() -> None:
    assert mfu(None, 0.1, 1, 1e12) is None
    assert mfu(1e12, None, 1, 1e12) is None
    assert mfu(1e12, 0.1, 1, None) is None
    with pytest.raises(ValueError, match="0 s"):
        mfu(1e12, 0, 1, 1e12)
