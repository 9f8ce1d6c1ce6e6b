"""The workloads that come with the suite: adding one is adding its definition here."""

from collections.abc import Mapping

from workloads.workload import Scale, Workload

RESNET18 = Workload(
    name="resnet18",
    unit="images",
    model="torchvision.models:resnet18",
    data="workloads.images:Images",
    optimizer="workloads.optimizers:sgd",
    scales={
        "tiny": Scale(batch=8, learning_rate=0.01, model={}, data={"pixels": 64, "count": 256}),
        "small": Scale(batch=32, learning_rate=0.02, model={}, data={"pixels": 128, "count": 512}),
        "full": Scale(batch=256, learning_rate=0.1, model={}, data={"pixels": 224, "count": 2048}),
    },
)

CATALOG: Mapping[str, Workload] = {workload.name: workload for workload in (RESNET18,)}
