"""What a GPU could compute at most, by its vendor, and which share of that a training reaches.

Dense peaks: data sheets print figures "with sparsity", twice as high, in the larger type. Where a
GPU runs fp16 slower when it accumulates in fp32 (GeForce), the slower figure counts: that is what
PyTorch's matrix products do. A name that is not exactly here has no peak: variants of one name
differ by a third.
"""

from collections.abc import Mapping

DTYPES = ("fp32", "tf32", "bf16", "fp16")  # fp32 is IEEE's, outside the tensor cores

_AMPERE = "NVIDIA A100 Tensor Core GPU data sheet"
_HOPPER = "NVIDIA H100 Tensor Core GPU architecture white paper, table of peaks"
_H100 = "NVIDIA H100 Tensor Core GPU data sheet, halved where it says with sparsity"
_H200 = "NVIDIA H200 Tensor Core GPU data sheet, halved where it says with sparsity"
_B200 = "NVIDIA Blackwell architecture, HGX B200, halved where it says with sparsity"
_GA102 = "NVIDIA Ampere GA102 GPU architecture white paper, appendices"
_ADA = "NVIDIA Ada GPU architecture white paper, appendices"
_RTX_BLACKWELL = "NVIDIA RTX Blackwell GPU architecture white paper, appendices"
_VOLTA = "NVIDIA V100 Tensor Core GPU data sheet"


def _tflops(source: str, **tflops: float) -> tuple[str, Mapping[str, float]]:
    return source, {dtype: value * 1e12 for dtype, value in tflops.items()}


_A100 = _tflops(_AMPERE, fp32=19.5, tf32=156, bf16=312, fp16=312)
_V100_SXM2 = _tflops(_VOLTA, fp32=15.7, fp16=125)
_V100_PCIE = _tflops(_VOLTA, fp32=14, fp16=112)

# By the name the driver gives, without a leading "NVIDIA " (drivers before 470 leave it out).
PEAKS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "Tesla V100-SXM2-16GB": _V100_SXM2,
    "Tesla V100-SXM2-32GB": _V100_SXM2,
    "Tesla V100-PCIE-16GB": _V100_PCIE,
    "Tesla V100-PCIE-32GB": _V100_PCIE,
    "Tesla T4": _tflops("NVIDIA T4 data sheet", fp32=8.1, fp16=65),
    "A100-SXM4-40GB": _A100,
    "A100-SXM4-80GB": _A100,
    "A100-PCIE-40GB": _A100,
    "A100 80GB PCIe": _A100,
    "A30": _tflops("NVIDIA A30 data sheet", fp32=10.3, tf32=82, bf16=165, fp16=165),
    "A10": _tflops("NVIDIA A10 data sheet", fp32=31.2, tf32=62.5, bf16=125, fp16=125),
    "GeForce RTX 3090": _tflops(_GA102, fp32=35.6, tf32=35.6, bf16=71, fp16=71),
    "GeForce RTX 4090": _tflops(_ADA, fp32=82.6, tf32=82.6, bf16=165.2, fp16=165.2),
    "GeForce RTX 5090": _tflops(_RTX_BLACKWELL, fp32=104.8, tf32=104.8, bf16=209.5, fp16=209.5),
    "L4": _tflops("NVIDIA L4 data sheet, halved", fp32=30.3, tf32=60, bf16=121, fp16=121),
    "L40": _tflops("NVIDIA L40 data sheet", fp32=90.5, tf32=90.5, bf16=181.05, fp16=181.05),
    "L40S": _tflops("NVIDIA L40S data sheet", fp32=91.6, tf32=183, bf16=362.05, fp16=362.05),
    "H100 80GB HBM3": _tflops(_HOPPER, fp32=66.9, tf32=494.7, bf16=989.4, fp16=989.4),
    "H100 PCIe": _tflops(_HOPPER, fp32=51.2, tf32=378, bf16=756, fp16=756),
    "H100 NVL": _tflops(_H100, fp32=60, tf32=417.5, bf16=835.5, fp16=835.5),
    "H200": _tflops(_H200, fp32=67, tf32=494.5, bf16=989.5, fp16=989.5),
    "H200 NVL": _tflops(_H200, fp32=60, tf32=417.5, bf16=835.5, fp16=835.5),
    "B200": _tflops(_B200, tf32=1100, bf16=2250, fp16=2250),  # two fp32 figures are in print
}


def peak(name: str, dtype: str) -> float | None:
    """Dense peak in FLOP/s of the device of that exact name, None where it is not known.

    `dtype` is one of DTYPES. Raises ValueError for another.
    """
    if dtype not in DTYPES:
        raise ValueError(f"no peaks for {dtype!r}: there are {', '.join(DTYPES)}")
    _, peaks = PEAKS.get(name.removeprefix("NVIDIA "), ("", {}))
    return peaks.get(dtype)


def source(name: str) -> str | None:
    """Where the peaks of that device are from."""
    found = PEAKS.get(name.removeprefix("NVIDIA "))
    return found[0] if found else None


def mfu(
    flops_per_step: float | None, step_s: float | None, devices: int, peak: float | None
) -> float | None:
    """Model FLOPs utilization: the share, 0 to 1, of the devices' peak that the model's own
    arithmetic takes (Chowdhery et al. 2022, PaLM, appendix B).

    `flops_per_step` is of all devices together, without recomputation; `peak` is of one device, in
    FLOP/s. None where one of them is unknown. Raises ValueError for a step or devices of none.
    """
    if flops_per_step is None or step_s is None or peak is None:
        return None
    if not (step_s > 0 and devices > 0 and peak > 0 and flops_per_step >= 0):
        raise ValueError(f"{flops_per_step} FLOPs in {step_s} s on {devices} x {peak} FLOP/s")
    return flops_per_step / (step_s * devices * peak)
