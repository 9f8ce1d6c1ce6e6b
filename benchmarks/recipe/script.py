"""A setting as a PyTorch training loop that runs as printed: plain torch, from text to text.

Each knob adds the lines that a practitioner would write for it, and a plain setting none of them.
Model, data, loss and optimizer come from the workload; the place is marked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from benchmarks.setting import SCALED_PRECISIONS, Setting

WRITTEN: Mapping[
    str, tuple[str, ...] | None
] = {  # knob -> the values that the lines below are for; None: any
    "device": None,
    "num_workers": None,
    "prefetch_factor": None,
    "pin_memory": None,
    "non_blocking": None,
    "copy_stream": None,
    "decode": None,
    "augment": None,
    "images": None,
    "precision": ("fp32", "tf32", "amp_bf16", "amp_fp16"),
    "memory_format": None,
    "compile": None,
    "attention": ("default", "efficient", "flash", "cudnn"),
    "optimizer": ("default", "foreach", "fused"),
    "parallel": None,  # see STRATEGIES
    "bucket_mb": None,
    "static_graph": None,
    "bucket_view": None,
    "batch": None,
    "threads": None,
    "variables": None,
}
STRATEGIES = ("single", "dp", "ddp")
AUTOCAST = {"amp_bf16": "torch.bfloat16", "amp_fp16": "torch.float16"}
ATTENTION = {
    "efficient": "EFFICIENT_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
}
COPIED_AHEAD = """\
def copied_ahead(loader, device):
    \"\"\"Batches on the device; the next is copied meanwhile, on a stream of its own.\"\"\"
    stream, ahead = torch.Stream(device), None
    for batch in loader:
        computing = torch.accelerator.current_stream(device)
        if ahead is not None:
            computing.wait_stream(stream)
            for tensor in ahead:
                tensor.record_stream(computing)  # its memory is not free before that is done
        with stream:
            following = [tensor.to(device, non_blocking=True) for tensor in batch]
        if ahead is not None:
            yield ahead
        ahead = following
    yield ahead
""".splitlines()
WARM_UP_STEPS = 10
FIRST_LOSSES = 8


@dataclass(frozen=True, kw_only=True)
class Script:
    """What a script needs to know besides its setting.

    workload: as `workloads.load` takes it. source: arguments of workloads.Source, as Python text.
    threads: of each rank on a CPU.
    """

    workload: str
    scale: str
    unit: str
    units_per_step: int  # of all ranks and devices together
    batch: int  # of each rank or device
    setting: Setting
    source: str
    threads: int
    title: str
    file: str  # as which it is kept, for the line that says how to run it
    seed: int = 0

    @property
    def distributed(self) -> bool:
        return self.setting.world_size > 1

    @property
    def scaled(self) -> bool:
        return self.setting.precision in SCALED_PRECISIONS

    @property
    def command(self) -> str:
        if self.distributed:
            return f"torchrun --nproc-per-node {self.setting.world_size} {self.file}"
        return f"python {self.file}"


def unwritable(setting: Setting) -> str | None:
    """The knob that no line here is for, as `name=value`, or None."""
    for knob in fields(Setting):
        value = getattr(setting, knob.name)
        if value == knob.default:
            continue
        values = WRITTEN.get(knob.name, ())
        if values is not None and value not in values:
            return f"{knob.name}={value}"
    if setting.copy_stream and setting.decode == "device":
        return "copy_stream=True beside decode=device"  # files stay where they are until decoded
    if setting.strategy not in STRATEGIES:
        return f"parallel={setting.parallel}"
    return None


def write(script: Script) -> str:
    """The script's text.

    Raises:
        ValueError: the setting turns a knob that cannot be written.
    """
    if knob := unwritable(script.setting):
        raise ValueError(f"no training loop can be written with {knob}")
    body = [
        *_process(script),
        *_parts(script),
        *_model(script),
        *_loader(script),
        *_loop(script),
        *_closing(script),
    ]
    lines = [
        *_head(script),
        "",
        "",
        *([*COPIED_AHEAD, "", ""] if script.setting.copy_stream else []),
        "def main() -> None:",
        *(f"    {line}" if line else "" for line in body),
        "",
        "",
        'if __name__ == "__main__":',
        "    main()",
    ]
    return "\n".join(lines) + "\n"


def _head(script: Script) -> Iterator[str]:
    variables = script.setting.variables
    yield f'"""{script.title}'
    yield ""
    yield "Run it in the suite's folder; a number behind it is the steps to train."
    yield ""
    yield f"    {script.command} 100"
    yield '"""'
    yield ""
    if variables:
        yield "import os"
    yield "import sys"
    yield "import time"
    yield "from pathlib import Path"
    yield ""
    if variables:
        yield "VARIABLES = {"
        yield from (f"    {name!r}: {value!r}," for name, value in variables)
        yield "}"
        yield "if any(os.environ.get(name) != value for name, value in VARIABLES.items()):"
        yield "    os.environ.update(VARIABLES)  # read as a process starts: set them in your shell"
        yield "    os.execv(sys.executable, sys.orig_argv)"
        yield ""
    yield "import torch"
    if script.setting.attention in ATTENTION:
        yield "from torch.nn.attention import SDPBackend, sdpa_kernel"
    if script.setting.strategy == "ddp":
        yield "from torch.nn.parallel import DistributedDataParallel"
    yield "from torch.utils.data import DataLoader"
    yield ""
    yield "sys.path.insert(0, str(Path.cwd()))"
    yield "from workloads import Source, load"
    yield "from workloads.stream import Positions"
    yield ""
    yield f"WARM_UP_STEPS = {WARM_UP_STEPS}"


def _process(script: Script) -> Iterator[str]:
    setting = script.setting
    yield "steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100"
    if script.distributed:
        yield f'torch.distributed.init_process_group("{_backend(setting)}")'
        yield "rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()"
    if setting.device == "cpu":
        yield f"torch.set_num_threads({script.threads})"
        yield 'device = torch.device("cpu")'
    elif script.distributed:
        yield f'device = torch.device("{setting.device}", rank)'
        yield "torch.accelerator.set_device_index(rank)"
    else:
        yield f'device = torch.device("{setting.device}")'
    if setting.device == "cuda":
        tf32 = setting.precision == "tf32"
        yield f'torch.set_float32_matmul_precision("{"high" if tf32 else "highest"}")'
        yield f"torch.backends.cudnn.allow_tf32 = {tf32}"
    yield f"torch.manual_seed({script.seed})"
    yield ""


def _backend(setting: Setting) -> str:
    own = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl"}[setting.device]
    return own if own == "gloo" else f"cpu:gloo,{setting.device}:{own}"


def _parts(script: Script) -> Iterator[str]:
    yield "# Yours go here: a model, its optimizer and loss, a dataset of (input, target)."
    yield f"workload = load({script.workload!r})"
    yield f"scale = workload.scale({script.scale!r})"
    yield "model = workload.build_model(scale).to(device)"


def _model(script: Script) -> Iterator[str]:
    setting = script.setting
    if setting.memory_format == "channels_last":
        yield "model = model.to(memory_format=torch.channels_last)"
    if setting.compile != "none":
        mode = "" if setting.compile == "default" else f', mode="{setting.compile}"'
        yield f"model = torch.compile(model{mode})"
    if setting.parallel == "dp":
        yield "model = torch.nn.DataParallel(model)"
    if setting.strategy == "ddp":
        yield f"model = DistributedDataParallel({', '.join(_ddp_arguments(setting))})"
    kind = "" if setting.optimizer == "default" else f", {setting.optimizer}=True"
    yield f"optimizer = workload.build_optimizer(model.parameters(), scale{kind})"
    yield "loss_function = workload.build_loss()"
    options = "".join(f", {name}={value!r}" for name, value in _data_options(setting))
    yield f"dataset = workload.build_data(scale, Source({script.source}){options})"
    yield ""


def _data_options(setting: Setting) -> Iterator[tuple[str, str]]:
    """What is asked of the data beyond the plain setting."""
    for name in ("decode", "augment", "images"):
        if getattr(setting, name) != getattr(Setting(), name):
            yield name, getattr(setting, name)


def _ddp_arguments(setting: Setting) -> Iterator[str]:
    yield "model"
    if setting.device != "cpu":
        yield "device_ids=[device]"
    if setting.bucket_mb:
        yield f"bucket_cap_mb={setting.bucket_mb}"
    if setting.static_graph:
        yield "static_graph=True"
    if setting.bucket_view:
        yield "gradient_as_bucket_view=True"


def _loader(script: Script) -> Iterator[str]:
    setting = script.setting
    yield "loader = DataLoader("
    yield "    dataset,"
    yield f"    batch_size={_batch(script)},"
    sampler = "rank, world" if script.distributed else ""
    yield f"    sampler=Positions({sampler}),  # without end; yours: shuffle=True"
    if setting.num_workers:
        yield f"    num_workers={setting.num_workers},"
        yield f"    prefetch_factor={setting.prefetch_factor},"
    if setting.pin_memory:
        yield "    pin_memory=True,"
    if setting.decode == "device":
        yield "    collate_fn=dataset.collate,  # files are of unequal length: a list of them"
    yield ")"
    if script.scaled:
        yield f'scaler = torch.amp.GradScaler("{setting.device}")'
    yield ""


def _batch(script: Script) -> str:
    """DataParallel cuts a batch up itself."""
    if script.setting.parallel == "dp":
        return f"{script.batch} * torch.accelerator.device_count()"
    return str(script.batch)


def _loop(script: Script) -> Iterator[str]:
    setting = script.setting
    batches = "copied_ahead(loader, device)" if setting.copy_stream else "loader"
    yield "losses = []"
    yield f"for step, (inputs, targets) in enumerate({batches}):"
    yield "    if step in (WARM_UP_STEPS, WARM_UP_STEPS + steps):"
    if setting.device != "cpu":
        yield "        torch.accelerator.synchronize()"
    if script.distributed:
        yield "        torch.distributed.barrier()"
    yield "        if step > WARM_UP_STEPS:"
    yield "            break"
    yield "        began = time.perf_counter()"
    yield from (f"    {line}" for line in _step(script))
    yield f"    if step < {FIRST_LOSSES}:"
    yield "        losses.append(loss.detach())"
    yield "seconds = time.perf_counter() - began"
    yield ""


def _step(script: Script) -> Iterator[str]:
    setting = script.setting
    if setting.device != "cpu" and not setting.copy_stream:
        blocking = ", non_blocking=True" if setting.non_blocking else ""
        if setting.decode != "device":
            yield f"inputs = inputs.to(device{blocking})"
        yield f"targets = targets.to(device{blocking})"
    if setting.augment == "device":
        seed = "rank + world * step" if script.distributed else "step"
        yield f"inputs = dataset.finish(inputs, device, {seed})  # crop, flip, normalise"
    if setting.memory_format == "channels_last":
        yield "inputs = inputs.to(memory_format=torch.channels_last)"
    yield "optimizer.zero_grad()"
    indent = ""
    if setting.attention in ATTENTION:
        yield f"with sdpa_kernel(SDPBackend.{ATTENTION[setting.attention]}):"
        indent = "    "
    yield from (indent + line for line in _gradients(script))
    if script.scaled:
        yield "scaler.step(optimizer)"
        yield "scaler.update()"
    else:
        yield "optimizer.step()"


def _gradients(script: Script) -> Iterator[str]:
    precision = script.setting.precision
    if precision in AUTOCAST:
        yield f'with torch.autocast("{script.setting.device}", dtype={AUTOCAST[precision]}):'
        yield "    loss = loss_function(model(inputs), targets)"
    else:
        yield "loss = loss_function(model(inputs), targets)"
    yield "scaler.scale(loss).backward()" if script.scaled else "loss.backward()"


def _closing(script: Script) -> Iterator[str]:
    yield "first = torch.stack(losses).float().cpu()"
    if script.distributed:
        yield "torch.distributed.all_reduce(first)"
        yield "torch.distributed.destroy_process_group()"
        yield "if rank > 0:"
        yield "    return"
        yield "first = first / world"
    yield 'print("first losses:", ", ".join(f"{loss:.9g}" for loss in first.tolist()))'
    yield "per_s = steps / seconds"
    yield (
        f'print(f"{{per_s:.4g}} steps/s, {{per_s * {script.units_per_step}:,.4g}} {script.unit}/s")'
    )
