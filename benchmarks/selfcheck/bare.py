"""A training loop as anybody would write it, without this suite: what the suite is held against.

Reads lines of numbers from stdin: for each number train so many steps, then print the seconds that
each took. Nothing of `benchmarks` is imported.
"""

import sys
from pathlib import Path
from time import perf_counter

import torch
from torch.utils.data import DataLoader

import workloads
from workloads.stream import Positions


def main(name: str, scale_name: str, cache: str) -> None:
    workload = workloads.load(name)
    scale = workload.scale(scale_name)
    torch.manual_seed(0)
    model = workload.build_model(scale)
    optimizer = workload.build_optimizer(model.parameters(), scale)
    loss_of = workload.build_loss()
    dataset = workload.build_data(scale, workloads.Source(cache=Path(cache)))
    batches = iter(DataLoader(dataset, batch_size=scale.batch, sampler=Positions()))
    print("ready", flush=True)
    for line in sys.stdin:
        seconds = []
        for steps in map(int, line.split()):
            start = perf_counter()
            for _ in range(steps):
                inputs, targets = next(batches)
                optimizer.zero_grad()
                loss = loss_of(model(inputs), targets)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            seconds.append(perf_counter() - start)
        print(*seconds, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
