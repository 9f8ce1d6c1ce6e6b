"""Which kernel computes attention."""

from collections.abc import Sequence

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.nvidia import AMPERE, is_amd, too_old
from benchmarks.techniques.precision import AMP_BF16
from benchmarks.techniques.technique import ATTENTION, Evidence, Finding, Technique

BACKENDS = ("math", "efficient", "flash", "cudnn")
HALF = ("amp_bf16", "amp_fp16", "bf16")


def _kernel(setting: Setting, evidence: Evidence) -> Finding | None:
    """By the operators of a step. In compiled code, math is taken apart and shows no operator."""
    ran, allowed = evidence["attention_kernels"], evidence["attention_allowed"]
    said = f"attention by {' and '.join(ran) or 'no kernel of its own'}"
    if setting.attention == "default":
        left = set(BACKENDS) <= set(allowed)
        return (left, f"{said}, which torch chose") if ran or not left else None
    taken_apart = setting.attention == "math" and setting.compile != "none" and not ran
    return allowed == [setting.attention] and (ran == allowed or taken_apart), said


def _efficient(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device == "cuda":
        return None
    return f"attention_efficient needs a GPU with CUDA, {setting.device} has no kernel for it"


def _flash(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device == "cpu":
        return None
    if setting.device != "cuda":
        return f"attention_flash needs a CPU or a GPU with CUDA, {setting.device} is neither"
    return _half(setting) or _new_enough(hardware, "attention_flash")


def _cudnn(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device != "cuda" or is_amd(hardware):
        return "attention_cudnn needs an NVIDIA GPU, cuDNN is for no other device"
    return _half(setting) or _new_enough(hardware, "attention_cudnn")


def _half(setting: Setting) -> str | None:
    if setting.precision in HALF:
        return None
    return f"attention_{setting.attention} needs 16-bit numbers on a GPU, not {setting.precision}"


def _new_enough(hardware: Hardware, name: str) -> str | None:
    return None if is_amd(hardware) else too_old(hardware, name, AMPERE)


MATH = Technique(
    name="attention_math",
    change={"attention": "math"},
    why="the formula itself, every score written to memory: shows what the fused kernels save",
    api="torch.nn.attention.sdpa_kernel(SDPBackend.MATH)",
    only_for=ATTENTION,
    checks={"attention": _kernel},
)
EFFICIENT = Technique(
    name="attention_efficient",
    change={"attention": "efficient"},
    why="scores stay on the chip, in fp32 too: for GPUs and precisions that flash does not serve",
    api="torch.nn.attention.sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION)",
    only_for=ATTENTION,
    needs=_efficient,
    checks={"attention": _kernel},
)
FLASH = Technique(
    name="attention_flash",
    change={"attention": "flash"},
    why="tiled so that scores never leave the chip; memory grows with length, not with its square",
    api="torch.nn.attention.sdpa_kernel(SDPBackend.FLASH_ATTENTION)",
    on=(AMP_BF16,),
    only_for=ATTENTION,
    needs=_flash,
    checks={"attention": _kernel},
)
CUDNN = Technique(
    name="attention_cudnn",
    change={"attention": "cudnn"},
    why="NVIDIA's own fused kernel, often ahead on the newest GPUs",
    api="torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION)",
    on=(AMP_BF16,),
    only_for=ATTENTION,
    needs=_cudnn,
    checks={"attention": _kernel},
)


def techniques(cores: int) -> Sequence[Technique]:
    return (MATH, EFFICIENT, FLASH, CUDNN)
