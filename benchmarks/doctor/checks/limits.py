"""Limits that kill loader workers half-way through a run: shared memory and file handles."""

from benchmarks.doctor.facts import Facts
from benchmarks.doctor.finding import Finding, Level

MIB = 1 << 20
# A batch of 32 images of 3 x 224 x 224 floats; a worker prefetches two while one is consumed.
BATCH_BYTES, BATCHES_PER_WORKER = 32 * 3 * 224 * 224 * 4, 3
# Measured: a worker costs its process 8 handles; as much again for batches that are kept.
HANDLES, HANDLES_PER_WORKER = 128, 16


def no_shared_memory(facts: Facts) -> Finding | None:
    """Without a writable /dev/shm no queue between processes can be made."""
    memory = facts.host.shared_memory
    if facts.host.system != "Linux" or (memory and memory.writable):
        return None
    return Finding(
        Level.MEND,
        "there is no shared memory for loader workers",
        "/dev/shm is read-only" if memory else "/dev/shm does not exist",
        "mount it: `sudo mount -t tmpfs -o mode=1777,size=8g tmpfs /dev/shm`",
    )


def little_shared_memory(facts: Facts) -> Finding | None:
    """Workers hand batches over through /dev/shm and die of a bus error when it is full."""
    memory, workers = facts.host.shared_memory, facts.host.usable_cores
    needed = workers * BATCHES_PER_WORKER * BATCH_BYTES
    if memory is None or not memory.writable or memory.free_bytes >= needed:
        return None
    more = f"{max(1, -(-needed // (1 << 30)))}g"
    return Finding(
        Level.WARN,
        "/dev/shm is small: loader workers may die of a bus error",
        f"{memory.free_bytes // MIB} MiB free of {memory.total_bytes // MIB} MiB; {workers} "
        f"workers (one a core) x {BATCHES_PER_WORKER} batches of 32 images at 224 px take "
        f"{needed // MIB} MiB",
        f"start the container with --shm-size={more} or --ipc=host"
        if facts.host.container
        else f"`sudo mount -o remount,size={more} /dev/shm`, or remove what fills it",
    )


def few_file_handles(facts: Facts) -> Finding | None:
    """Every worker and every batch in flight holds file handles."""
    limit, workers = facts.host.open_files, facts.host.usable_cores
    needed = HANDLES + HANDLES_PER_WORKER * workers
    if limit is None or limit[0] >= needed:
        return None
    soft, hard = limit
    wanted = min(hard, max(needed, 65536))
    return Finding(
        Level.WARN,
        "few file handles: loader workers may fail with 'Too many open files'",
        f"the limit is {soft} (hard limit {hard}); {workers} workers need about {needed}",
        f"`ulimit -n {wanted}` in this shell"
        if hard >= needed
        else "raise the hard limit (`nofile` in /etc/security/limits.conf; --ulimit nofile=65536 "
        "for a container)",
    )
