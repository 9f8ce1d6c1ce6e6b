"""Made-up facts of a healthy server with one GPU, to be spoilt one at a time."""

from benchmarks.doctor.facts import Driver, Facts, Host, Packages, SharedMemory, Torch
from benchmarks.hardware import Gpu, Hardware
from benchmarks.telemetry.readings import Reading, Uuids

UUID = "GPU-bbbbbbbb-0000-0000-0000-000000000001"
GIB = 1 << 30


def a_gpu(capability: tuple[int, int] = (9, 0), name: str = "NVIDIA H200") -> Gpu:
    return Gpu(
        device="cuda",
        index=0,
        name=name,
        uuid=UUID,
        capability=capability,
        memory_bytes=141 * GIB,
        bf16=True,
    )


def some_hardware(*gpus: Gpu, accelerator: str | None = "cuda") -> Hardware:
    return Hardware(
        torch="2.14.1+cu130",
        python="3.12.1",
        devices={"cpu": 1, "cuda": len(gpus), "mps": 0, "xpu": 0},
        gpus=gpus,
        accelerator=accelerator,
        accelerator_reason=None if accelerator else "CUDA said no",
        usable_cores=8,
        affinity_cores=8,
        cgroup_cores=None,
        cpu_model="A CPU",
        cpu_isa=("avx2",),
        memory_bytes=64 * GIB,
        cgroup_memory_bytes=None,
        compilers={"g++": "/usr/bin/g++", "triton": "3.8.0"},
        torch_facts={"cpu_capability": "AVX2"},
    )


def a_server() -> Facts:
    """Nothing is wrong with it."""
    return Facts(
        packages=Packages(
            executable="/usr/bin/python3",
            python="3.12.1",
            required={"psutil": "6.1"},
            installed={"psutil": "7.0.0"},
        ),
        torch=Torch(
            version="2.14.1+cu130",
            built_for="cuda",
            runtime="13.0",
            arch_list=("sm_80", "sm_90"),
            nccl="2.30.7",
            torchvision="0.29.1",
            peer_pairs=(),
            hardware=some_hardware(a_gpu()),
        ),
        driver=Driver(
            version=Reading("580.65.06"),
            listed=Reading(Uuids((UUID,), ())),
            module_loaded=True,
            nodes=("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"),
            denied=(),
            pci_gpus={"nvidia": 1},
            visible=None,
        ),
        host=Host(
            system="Linux",
            cpu_model="A CPU",
            cpu_isa=("avx2",),
            cpu_cores=8,
            affinity_cores=8,
            cgroup_cores=None,
            usable_cores=8,
            memory_bytes=64 * GIB,
            cgroup_memory_bytes=None,
            shared_memory=SharedMemory(total_bytes=32 * GIB, free_bytes=32 * GIB, writable=True),
            open_files=(65536, 65536),
            governor="performance",
            frequency_driver="acpi-cpufreq",
            throttle_events=0,
            container=None,
            cxx="/usr/bin/g++",
            cc="/usr/bin/gcc",
            python_headers=True,
        ),
    )
