"""The workloads that come with the suite: adding one is adding its definition here."""

from collections.abc import Mapping

from workloads.workload import Scale, Workload

# Learning rates are low, as in the first steps of a warm-up: the first steps are what is measured,
# and two settings' losses can be compared only while training is steady.

RESNET18 = Workload(
    name="resnet18",
    unit="images",
    model="torchvision.models:resnet18",
    data="workloads.images:Images",
    optimizer="workloads.optimizers:sgd",
    pieces="workloads.pieces:resnet",
    scales={
        "tiny": Scale(
            batch=8,
            learning_rate=0.005,
            model={},
            data={"pixels": 64, "count": 256},
            target_loss=2.0,
        ),
        "small": Scale(
            batch=32,
            learning_rate=0.005,
            model={},
            data={"pixels": 128, "count": 512},
            target_loss=2.0,
        ),
        "full": Scale(
            batch=256,
            learning_rate=0.01,
            model={},
            data={"pixels": 224, "count": 2048},
            target_loss=2.0,
        ),
    },
)

RESNET50 = Workload(
    name="resnet50",
    unit="images",
    model="torchvision.models:resnet50",
    data="workloads.images:Images",
    optimizer="workloads.optimizers:sgd",
    pieces="workloads.pieces:resnet",
    scales={
        "tiny": Scale(batch=4, learning_rate=0.0005, model={}, data={"pixels": 64, "count": 256}),
        "small": Scale(batch=32, learning_rate=0.005, model={}, data={"pixels": 128, "count": 512}),
        "full": Scale(batch=256, learning_rate=0.01, model={}, data={"pixels": 224, "count": 2048}),
    },
)

VIT_B_16 = Workload(
    name="vit_b_16",
    unit="images",
    model="torchvision.models:VisionTransformer",
    data="workloads.images:Images",
    optimizer="workloads.optimizers:adamw",
    pieces="workloads.pieces:vision_transformer",
    attention=True,
    scales={
        "tiny": Scale(  # the width of ViT-Ti (Touvron et al. 2021), half as deep
            batch=8,
            learning_rate=5e-4,
            model={
                "image_size": 64,
                "patch_size": 16,
                "num_layers": 6,
                "num_heads": 3,
                "hidden_dim": 192,
                "mlp_dim": 768,
            },
            data={"pixels": 64, "count": 256},
        ),
        "small": Scale(  # ViT-S
            batch=32,
            learning_rate=1e-4,
            model={
                "image_size": 128,
                "patch_size": 16,
                "num_layers": 12,
                "num_heads": 6,
                "hidden_dim": 384,
                "mlp_dim": 1536,
            },
            data={"pixels": 128, "count": 512},
        ),
        "full": Scale(  # ViT-B (Dosovitskiy et al. 2021)
            batch=128,
            learning_rate=1e-4,
            model={
                "image_size": 224,
                "patch_size": 16,
                "num_layers": 12,
                "num_heads": 12,
                "hidden_dim": 768,
                "mlp_dim": 3072,
            },
            data={"pixels": 224, "count": 2048},
        ),
    },
)

BERT_BASE = Workload(
    name="bert_base",
    unit="sequences",
    model="workloads.transformer:BERTClassifier",
    data="workloads.text:Sections",
    optimizer="workloads.optimizers:adamw",
    pieces="workloads.pieces:bert",
    attention=True,
    scales={
        "tiny": Scale(  # BERT-Tiny's width (Turc et al. 2019), twice as deep, few tokens
            batch=16,
            learning_rate=1e-3,
            model={
                "classes": 4,
                "vocabulary": 512,
                "positions": 128,
                "width": 128,
                "layers": 4,
                "heads": 2,
                "dropout": 0.0,  # the fused attention of CPUs has none
            },
            data={"length": 64, "vocabulary": 512, "chains": 4, "count": 2**18},
        ),
        "small": Scale(  # BERT-Small
            batch=32,
            learning_rate=1e-4,
            model={"classes": 4, "width": 512, "layers": 4, "heads": 8},
            data={"length": 128, "vocabulary": 30522, "chains": 4, "count": 2**20},
        ),
        "full": Scale(
            batch=32,
            learning_rate=2e-5,
            model={"classes": 4},
            data={"length": 384, "vocabulary": 30522, "chains": 4, "count": 2**22},
        ),
    },
)

GPT2 = Workload(
    name="gpt2",
    unit="tokens",
    model="workloads.transformer:GPT2",
    data="workloads.text:NextTokens",
    optimizer="workloads.optimizers:adamw",
    pieces="workloads.pieces:gpt2",
    attention=True,
    scales={
        "tiny": Scale(
            batch=8,
            learning_rate=1e-3,
            model={"vocabulary": 512, "positions": 128, "width": 128, "layers": 4, "heads": 4},
            data={"length": 128, "vocabulary": 512, "count": 2**18},
            units=128,
            target_loss=3.5,
        ),
        "small": Scale(
            batch=16,
            learning_rate=1e-4,
            model={"positions": 256, "width": 384, "layers": 6, "heads": 6},
            data={"length": 256, "vocabulary": 50257, "count": 2**20},
            units=256,
            target_loss=7.0,
        ),
        "full": Scale(
            batch=16,
            learning_rate=1e-4,
            model={},
            data={"length": 1024, "vocabulary": 50257, "count": 2**22},
            units=1024,
            target_loss=7.0,
        ),
    },
)

CATALOG: Mapping[str, Workload] = {
    workload.name: workload for workload in (RESNET18, RESNET50, VIT_B_16, BERT_BASE, GPT2)
}
