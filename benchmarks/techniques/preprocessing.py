"""Where and how images are decoded, shrunk and augmented."""

from dataclasses import replace

from benchmarks.hardware import Hardware
from benchmarks.setting import Setting
from benchmarks.techniques.loading import workers
from benchmarks.techniques.technique import IMAGES, Evidence, Finding, Technique

TWO_WORKERS = workers(2)
DECODERS = ("pil", "torchvision", "device")


# Checks


def _decoder(setting: Setting, evidence: Evidence) -> Finding | None:
    images = evidence.get("images")
    if images is None:
        return None
    ran = {name: images[name] for name in DECODERS if images[name]}
    said = ", ".join(f"{count} by {name}" for name, count in ran.items()) or "none"
    return set(ran) == {setting.decode}, f"images decoded: {said}"


def _augmented_on(setting: Setting, evidence: Evidence) -> Finding | None:
    if evidence.get("images") is None:
        return None
    found = evidence["augmented_on"]
    wanted = setting.device if setting.augment == "device" else None
    return found == wanted, f"batches augmented on {found or 'no device, but in the loader'}"


def _image_size(setting: Setting, evidence: Evidence) -> Finding | None:
    images = evidence.get("images")
    if images is None:
        return None
    side, resized, limit = (images[k] for k in ("shorter_side", "resized_files", "stored_side"))
    said = f"{resized} resized files read, shorter sides up to {side} pixels"
    if setting.images == "resized":
        return resized > 0 and 0 < side <= limit, said
    return resized == 0, said


def _nvjpeg(hardware: Hardware, setting: Setting) -> str | None:
    if setting.device == "cuda":
        return None
    return f"device_decode needs a GPU with nvJPEG, {setting.device} has none"


# Techniques: their losses come from other pixels than the baseline's

DECODE_TORCHVISION = Technique(
    name="decode_torchvision",
    change={"decode": "torchvision"},
    why="decodes straight into a tensor, which is then cropped; PIL's resizing is often faster",
    api="torchvision.io.decode_image",
    only_for=IMAGES,
    catalog=True,
    checks={"decoder": _decoder},
    loss_tolerance=0.05,  # the same crops, interpolated otherwise
)
PRE_RESIZED = Technique(
    name="pre_resized",
    change={"images": "resized"},
    why="images shrunk once to what crops need: less to read and decode in every epoch",
    api="PIL.Image.resize, once",
    only_for=IMAGES,
    catalog=True,
    checks={"decoder": _decoder, "image_size": _image_size},
    loss_tolerance=0.05,  # the same crops, of fewer pixels
)
DEVICE_AUGMENT = Technique(
    name="device_augment",
    change={"augment": "device"},
    why="the loader only decodes and shrinks; pays where the CPU is short and the device is not",
    api="torchvision.transforms.v2 on a batch of uint8",
    only_for=IMAGES,
    catalog=True,
    checks={"augmented_on": _augmented_on},
    loss_tolerance=0.1,  # crops from random numbers of its own, of images without their margins
)
DEVICE_DECODE = Technique(
    name="device_decode",
    change={"decode": "device", "augment": "device"},
    why="workers only read files, nvJPEG decodes on the GPU; pays where decoding holds up training",
    api='torchvision.io.decode_jpeg(device="cuda")',
    on=(TWO_WORKERS,),
    only_for=IMAGES,
    catalog=True,
    needs=_nvjpeg,
    checks={"decoder": _decoder, "augmented_on": _augmented_on},
    loss_tolerance=0.1,  # crops from random numbers of its own
)
IN_THE_LOADER = (DECODE_TORCHVISION, PRE_RESIZED, DEVICE_AUGMENT)
TECHNIQUES = (
    *IN_THE_LOADER,
    *(replace(technique, on=(TWO_WORKERS,)) for technique in IN_THE_LOADER),
    DEVICE_DECODE,
)
