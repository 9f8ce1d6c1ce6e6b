"""In which numbers layers compute."""

from benchmarks.hardware import Hardware
from benchmarks.setting import SCALED_PRECISIONS, Setting
from benchmarks.techniques.technique import Evidence, Finding, Technique

COMPUTE_DTYPES = {"amp_bf16": "bfloat16", "amp_fp16": "float16", "bf16": "bfloat16"}


def _compute_dtype(setting: Setting, evidence: Evidence) -> Finding:
    seen = evidence["compute_dtype"]
    if seen is None:
        return True, "no linear layer or convolution to look at"
    return seen == COMPUTE_DTYPES.get(setting.precision, "float32"), f"layers computed in {seen}"


def _few_skipped_steps(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.precision not in SCALED_PRECISIONS:
        return None
    skipped, steps = evidence["scaler_skipped_steps"], evidence["steps"]
    return skipped <= max(2, steps // 10), f"GradScaler skipped {skipped} of {steps} steps"


def _bf16_units(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device != "cuda":
        return None
    lacking = [gpu.name for gpu in hardware.gpus if gpu.bf16 is False]
    return f"amp_bf16 needs a GPU that computes in bf16, {lacking[0]} does not" if lacking else None


FP32 = Technique(
    name="fp32",
    change={"precision": "fp32"},
    why="IEEE single precision, the reference for losses",
    api="torch.float32",
    checks={"compute_dtype": _compute_dtype},
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
