"""A tree's CPU time and memory: counted once, kept when a child ends, robust to the vanished."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from benchmarks.telemetry.processes import (
    Process,
    _portable_snapshot,
    cpu_pressure_s,
    cpu_seconds,
    disk_read_bytes,
    load_average,
    parse_pressure_s,
    parse_rollup_bytes,
    parse_stat,
    resident,
    snapshot,
    system_cpu,
    tree_pids,
)

BURNT_S = 0.2
BURN = f"import time\nwhile time.process_time() < {BURNT_S}: pass\n"
ORPHAN = """
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
print("ready", flush=True)
time.sleep(60)
"""
REAPED = f"""
import subprocess, sys, time
subprocess.run([sys.executable, "-c", {BURN!r}], check=True)
print("ready", flush=True)
time.sleep(60)
"""

SHARED = """
import os, time
hold = b"x" * {held}
if os.fork():
    print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def started() -> Iterator[Callable[[str], int]]:
    """Starts Python code as the leader of a group, waits until it says something; gives its pid."""
    children: list[subprocess.Popen[str]] = []

    def start(code: str) -> int:
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, process_group=0
        )
        children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child.pid

    yield start
    for child in children:
        os.killpg(child.pid, 9)
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


def test_a_tree_is_the_leader_its_descendants_and_its_group() -> None:
    table = {
        1: Process(0, 1, 0.0),
        10: Process(1, 10, 1.0),
        11: Process(10, 10, 2.0),
        12: Process(11, 12, 4.0),  # a descendant that leads a group of its own
        13: Process(1, 10, 8.0),  # an orphan: its group tells whose it is
        20: Process(1, 20, 16.0),
    }
    assert tree_pids(table, 10) == {10, 11, 12, 13}
    assert cpu_seconds(table, tree_pids(table, 10)) == 15.0
    assert tree_pids(table, 99) == frozenset()
    assert cpu_seconds(table, tree_pids(table, 99)) is None


def test_a_stat_line_may_hold_any_name() -> None:
    line = b"42 (a) b) (c) S 7 8 8 0 -1 4194304 1 2 3 4 100 20 30 5 20 0 1 0 99 1 1"
    assert parse_stat(line, tick_s=0.01) == Process(7, 8, 1.55, "a) b) (c")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")
def test_an_orphan_stays_in_its_tree(started: Callable[[str], int]) -> None:
    leader = started(ORPHAN)
    assert len(tree_pids(snapshot(), leader)) == 2


def test_the_time_of_a_reaped_child_stays_in_the_total(started: Callable[[str], int]) -> None:
    leader = started(REAPED)
    table = snapshot()
    used = cpu_seconds(table, tree_pids(table, leader))
    assert used is not None
    assert used >= BURNT_S


def test_the_portable_way_to_look_agrees_with_this_systems() -> None:
    quick, portable = snapshot()[os.getpid()], _portable_snapshot()[os.getpid()]
    assert (quick.parent, quick.group) == (portable.parent, portable.group)
    assert quick.cpu_s == pytest.approx(portable.cpu_s, abs=5)


def test_this_process_has_memory_and_time() -> None:
    own = tree_pids(snapshot(), os.getpid())
    assert os.getpid() in own
    memory = resident(own)
    assert memory is not None
    assert memory.bytes > 5 << 20
    assert memory.kind == ("pss" if sys.platform == "linux" else "rss")


def test_shared_pages_are_counted_once(started: Callable[[str], int]) -> None:
    if sys.platform != "linux":
        pytest.skip("PSS is Linux's")
    held = 64 << 20
    leader = started(SHARED.format(held=held))
    pids = tree_pids(snapshot(), leader)
    assert len(pids) == 2
    memory = resident(pids)
    assert memory is not None
    assert held < memory.bytes < 2 * held


def test_the_vanished_are_left_out() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert cpu_seconds(snapshot(), [gone.pid]) is None
    assert resident([gone.pid]) is None
    with_own = resident([gone.pid, os.getpid()])
    assert with_own is not None
    assert with_own.bytes > 0


def test_memory_is_read_in_bytes() -> None:
    text = "00-ff ---p [rollup]\nRss: 12 kB\nPss:   3 kB\nPss_Shmem: 1 kB\n"
    assert parse_rollup_bytes(text, "Pss") == 3072
    assert parse_rollup_bytes(text, "Pss_Shmem") == 1024
    assert parse_rollup_bytes("", "Pss") is None


def test_shared_memory_is_told_apart(started: Callable[[str], int]) -> None:
    if sys.platform != "linux":
        pytest.skip("smaps_rollup is Linux's")
    held = 16 << 20
    leader = started(
        f"import mmap, time\nheld = mmap.mmap(-1, {held})\nheld.write(b'x' * {held})\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    memory = resident([leader])
    assert memory is not None
    assert memory.shared_bytes is not None
    assert memory.bytes > memory.shared_bytes >= held


def test_pressure_is_read_in_seconds() -> None:
    text = "some avg10=1.00 avg60=0.50 avg300=0.10 total=2500000\nfull avg10=0.00 total=7\n"
    assert parse_pressure_s(text) == 2.5
    assert parse_pressure_s("") is None
    first, second = cpu_pressure_s(), cpu_pressure_s()
    assert (first is None) == (second is None)
    assert first is None or second is None or second >= first > 0


def test_the_load_average_is_of_the_whole_machine() -> None:
    seen = load_average()
    assert seen is None or seen >= 0


def test_disk_reads_never_fall_and_are_none_for_the_vanished() -> None:
    first, second = disk_read_bytes([os.getpid()]), disk_read_bytes([os.getpid()])
    assert (first is None) == (second is None)
    assert first is None or second is None or second >= first >= 0
    assert disk_read_bytes([]) is None


def test_the_systems_cpu_time_grows_and_holds_ours() -> None:
    before = system_cpu()
    end = time.process_time() + BURNT_S
    while time.process_time() < end:
        pass
    after = system_cpu()
    if before is None or after is None:
        pytest.skip("this system shows no CPU times")
    assert after.busy_s - before.busy_s > BURNT_S / 2  # in ticks of 10 ms
    assert 1 <= after.cores <= (os.cpu_count() or 1)
