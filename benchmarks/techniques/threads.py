"""CPU only: how many threads, in how many processes, and which units oneDNN may use."""

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.allocators import ALLOCATORS, cpu_only
from benchmarks.techniques.parallel import ranks_fit
from benchmarks.techniques.precision import AMP_BF16
from benchmarks.techniques.technique import Evidence, Finding, Technique

MAX_ISA = "ONEDNN_MAX_CPU_ISA"
ISA_SAID = {  # by oneDNN 3, of itself
    "AVX512_CORE_VNNI": "Intel AVX-512 with Intel DL Boost",
    "AVX512_CORE_BF16": "Intel AVX-512 with Intel DL Boost and bfloat16 support",
}
MOST_RANKS = 8  # each holds a model of its own


def _threads(setting: Setting, evidence: Evidence) -> Finding | None:
    if setting.device != "cpu":
        return None
    seen, cores = evidence.get("threads"), evidence.get("usable_cores")
    if not setting.threads and cores is None:
        return None
    wanted = setting.threads or max(1, (cores or 0) // setting.world_size)
    return seen == wanted, f"{seen} intra-op threads, {wanted} wanted"


def _isa(setting: Setting, evidence: Evidence) -> Finding | None:
    """What oneDNN says of itself when it starts."""
    limit = dict(setting.variables).get(MAX_ISA)
    if limit is None:
        return None
    seen = evidence.get("onednn_isa")
    return seen == ISA_SAID[limit], f"oneDNN uses {seen}"


def threads(count: int) -> Technique:
    name = f"threads{count}"
    return Technique(
        name=name,
        change={"threads": count},
        why="leaves cores idle that a small model only waits for, or that share their units",
        api="torch.set_num_threads",
        needs=lambda hardware, setting: cpu_only(name, setting),
        checks={"threads": _threads},
    )


def split(ranks: int, count: int) -> Technique:
    """`ranks` processes of `count` threads each."""
    name = f"ddp{ranks}_threads{count}"
    return Technique(
        name=name,
        change={"parallel": f"ddp{ranks}", "threads": count},
        why="small operations keep few threads busy: more processes of fewer threads each",
        api="torch.nn.parallel.DistributedDataParallel, torch.set_num_threads",
        needs=lambda hardware, setting: cpu_only(name, setting) or ranks_fit(hardware, setting),
        checks={"threads": _threads},
        loss_tolerance=0.25,
        first_step_s=60.0,
    )


def without_units(name: str, limit: str, flag: str, units: str) -> Technique:
    """oneDNN held below what the CPU has: how much its units are worth."""

    def needs(hardware: Hardware, setting: Setting) -> str | None:
        lacks = f"{name} needs a CPU with {units}, this one has none"
        found = None if flag in hardware.cpu_isa else lacks
        return cpu_only(name, setting) or found

    return Technique(
        name=name,
        change={"variables": ((MAX_ISA, limit),)},
        why=f"what {units} are worth: the same arithmetic without them",
        api=f"{MAX_ISA}={limit}",
        on=(AMP_BF16,),
        needs=needs,
        checks={"onednn_isa": _isa},
        loss_tolerance=0.05,
    )


def techniques(cores: int) -> list[Technique]:
    powers = [2**n for n in range(cores.bit_length()) if 2**n <= cores]
    counts = sorted({*powers, cores // 2} - {0, cores})
    return [
        *(threads(count) for count in counts),
        *(split(ranks, cores // ranks) for ranks in powers if 1 < ranks <= MOST_RANKS),
        *ALLOCATORS,
        without_units("onednn_no_amx", "AVX512_CORE_BF16", "amx_bf16", "AMX tiles"),
        without_units("onednn_no_bf16", "AVX512_CORE_VNNI", "avx512_bf16", "AVX-512 bf16 units"),
    ]
