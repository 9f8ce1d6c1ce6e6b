"""Made-up machines that cells are tried on."""

from benchmarks.hardware import DEVICE_TYPES, Glance, Gpu, Hardware


def hardware(*, gpus: int = 0, cores: int = 8, bf16: bool = True, device: str = "cuda") -> Hardware:
    """A machine with `gpus` accelerators of type `device`."""
    return Hardware(
        torch="2.9.0",
        python="3.12.1",
        devices={**dict.fromkeys(DEVICE_TYPES, 0), "cpu": 1, device: gpus},
        gpus=tuple(
            Gpu(
                device=device,
                index=index,
                name="A GPU",
                uuid=None,
                capability=None,
                memory_bytes=80 << 30,
                bf16=bf16,
            )
            for index in range(gpus)
        ),
        accelerator=device if gpus else None,
        accelerator_reason=None if gpus else "there is none",
        usable_cores=cores,
        affinity_cores=cores,
        cgroup_cores=None,
        cpu_model="A CPU",
        cpu_isa=("avx2",),
        memory_bytes=64 << 30,
        cgroup_memory_bytes=None,
        compilers={},
    )


def at_a_glance(*, gpus: int = 0, cores: int = 8) -> Glance:
    return Glance(
        usable_cores=cores,
        devices={**dict.fromkeys(DEVICE_TYPES, 0), "cpu": 1, "cuda": gpus},
        reasons={},
    )
