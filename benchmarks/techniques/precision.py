"""In which numbers layers compute."""

from collections.abc import Sequence

from benchmarks.hardware import Hardware
from benchmarks.setting import SCALED_PRECISIONS, Setting
from benchmarks.techniques.nvidia import AMPERE, is_amd, too_old
from benchmarks.techniques.technique import Evidence, Finding, Technique

COMPUTE_DTYPES = {"amp_bf16": "bfloat16", "amp_fp16": "float16", "bf16": "bfloat16"}


def _compute_dtype(setting: Setting, evidence: Evidence) -> Finding:
    seen = evidence["compute_dtype"]
    if seen is None:
        return True, "no linear layer or convolution to look at"
    return seen == COMPUTE_DTYPES.get(setting.precision, "float32"), f"layers computed in {seen}"


def _weight_dtypes(setting: Setting, evidence: Evidence) -> Finding:
    dtypes = evidence["weight_dtypes"]
    wanted = "bfloat16" if setting.precision == "bf16" else "float32"
    return set(dtypes) <= {wanted}, f"weights in {', '.join(dtypes) or 'no floating-point numbers'}"


def _fp32_arithmetic(setting: Setting, evidence: Evidence) -> Finding:
    wanted = "tf32" if setting.precision == "tf32" else "ieee"
    matmul, conv = evidence["fp32_matmul"], evidence["fp32_conv"]
    said = f"fp32 matrix products in {matmul}, convolutions in {conv}"
    return matmul == conv == wanted, said


def _few_skipped_steps(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.precision not in SCALED_PRECISIONS:
        return None
    skipped, steps = evidence["scaler_skipped_steps"], evidence["steps"]
    return skipped <= max(2, steps // 10), f"GradScaler skipped {skipped} of {steps} steps"


def _bf16_units(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device != "cuda":
        return None
    lacking = [gpu.name for gpu in hardware.gpus if gpu.bf16 is False]
    if not lacking:
        return None
    return f"{setting.precision} needs a GPU that computes in bf16, {lacking[0]} does not"


def _tf32_units(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device != "cuda":
        return f"tf32 needs the tensor cores of an NVIDIA GPU, {setting.device} has none"
    if is_amd(hardware):
        return "tf32 needs the tensor cores of an NVIDIA GPU, this is an AMD one"
    return too_old(hardware, "tf32", AMPERE)


FP32 = Technique(
    name="fp32",
    change={"precision": "fp32"},
    why="IEEE single precision, the reference for losses",
    api="torch.float32",
    checks={
        "compute_dtype": _compute_dtype,
        "weight_dtypes": _weight_dtypes,
        "fp32_arithmetic": _fp32_arithmetic,
    },
)
AMP_BF16 = Technique(
    name="amp_bf16",
    change={"precision": "amp_bf16"},
    why="half the bytes and tensor-core arithmetic, with the range of fp32",
    api="torch.autocast(dtype=torch.bfloat16)",
    needs=_bf16_units,
    checks={"compute_dtype": _compute_dtype},
    loss_tolerance=0.05,
)
AMP_FP16 = Technique(
    name="amp_fp16",
    change={"precision": "amp_fp16"},
    why="half the bytes on tensor cores that lack bf16; gradients need scaling",
    api="torch.autocast(dtype=torch.float16), torch.amp.GradScaler",
    checks={"compute_dtype": _compute_dtype, "grad_scaler": _few_skipped_steps},
    loss_tolerance=0.05,
)
TF32 = Technique(
    name="tf32",
    change={"precision": "tf32"},
    why="tensor cores without touching the model: fp32's range, products with 10 bits of fraction",
    api='torch.backends.cuda.matmul.fp32_precision = "tf32", torch.backends.cudnn.conv...',
    needs=_tf32_units,
    checks={"fp32_arithmetic": _fp32_arithmetic},
)
BF16 = Technique(
    name="bf16",
    change={"precision": "bf16"},
    why="weights and optimizer state in half the bytes too; small updates are rounded away",
    api="model.to(torch.bfloat16)",
    needs=_bf16_units,
    checks={"compute_dtype": _compute_dtype, "weight_dtypes": _weight_dtypes},
    loss_tolerance=0.05,
)


def techniques(cores: int) -> Sequence[Technique]:
    """From exact to coarse; AMP is part of the matrix too."""
    return (TF32, AMP_BF16, AMP_FP16, BF16)
