"""Images are read, decoded and augmented; what a position holds depends on nothing else."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from workloads import Source, WorkloadError
from workloads.images import Images, collate_files, list_files

# torchvision 0.29 says so at every call: TorchCodec is to replace it
pytestmark = pytest.mark.filterwarnings("ignore:The image decoding and encoding")


@pytest.fixture(scope="module")
def images(source: Source) -> Images:
    return Images(source, pixels=32, count=20)


@pytest.fixture
def two_classes(tmp_path: Path) -> Path:
    for label, colour in {"cat": "red", "dog": "blue"}.items():
        (tmp_path / label).mkdir()
        for number in range(2):
            Image.new("RGB", (40, 30), colour).save(tmp_path / label / f"{number}.png")
    return tmp_path


def test_item_is_a_normalised_tensor_and_its_class(images: Images) -> None:
    image, label = images[0]
    assert (image.shape, image.dtype) == ((3, 32, 32), torch.float32)
    assert 0 <= label < 10
    assert image.min() < 0 < image.max()


def test_each_pass_crops_anew(images: Images) -> None:
    images.files, everything = images.files[:1], images.files
    try:
        assert not torch.equal(images[0][0], images[1][0])
    finally:
        images.files = everything


def test_item_is_a_function_of_its_position_alone(images: Images) -> None:
    torch.manual_seed(1)
    late, early = images[7], images[3]
    torch.manual_seed(2)
    assert torch.equal(images[3][0], early[0])
    assert torch.equal(images[7][0], late[0])


def test_random_state_of_the_caller_is_untouched(images: Images) -> None:
    before = torch.get_rng_state()
    images[11]
    assert torch.equal(torch.get_rng_state(), before)


def test_users_folder_is_used_and_nothing_generated(two_classes: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    data = Images(Source(cache=cache, images=two_classes), pixels=16, count=999)
    labels = [data[position][1] for position in range(4)]
    assert sorted(labels) == [0, 0, 1, 1]
    assert not cache.exists()
    blue = data[labels.index(1)][0]
    assert blue[2].mean() > blue[0].mean()


def test_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"no images in .*gone: want one folder of images per"):
        list_files(tmp_path / "gone")


def test_folder_without_classes_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="want one folder of images per class"):
        list_files(tmp_path)


def test_class_without_images_is_one_line(two_classes: Path) -> None:
    (two_classes / "empty").mkdir()
    with pytest.raises(WorkloadError, match="empty"):
        list_files(two_classes)


def test_more_classes_than_outputs_are_refused(
    two_classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.images.OUTPUTS", 1)
    with pytest.raises(WorkloadError, match="has 2 classes, the models tell 1 apart"):
        list_files(two_classes)


def loaded(source: Source, **options: str) -> Images:
    return Images(source, pixels=32, count=20, **options)


# Other ways to load them


def test_torchvision_decodes_to_nearly_the_same_crops(source: Source, images: Images) -> None:
    other = loaded(source, decode="torchvision")
    for position in range(4):
        (ours, label), (theirs, same) = other[position], images[position]
        assert (ours.shape, ours.dtype, label) == (theirs.shape, theirs.dtype, same)
        assert (ours - theirs).abs().mean() < 0.1  # of a standard deviation of 1


def test_what_the_device_augments_leaves_the_loader_in_one_size(source: Source) -> None:
    data = loaded(source, augment="device")
    assert data.finish
    items = [data[position][0] for position in range(3)]
    assert {(item.shape, item.dtype) for item in items} == {((3, 37, 37), torch.uint8)}
    batch = data.finish(torch.stack(items), torch.device("cpu"), 0)
    assert (batch.shape, batch.dtype) == ((3, 3, 32, 32), torch.float32)


def test_plain_images_leave_nothing_over(images: Images) -> None:
    assert images.finish is None
    assert images.collate is None


def test_what_the_device_decodes_leaves_the_loader_as_files(source: Source) -> None:
    data = loaded(source, decode="device", augment="device")
    assert data.collate
    assert data.finish
    files, labels = data.collate([data[0], data[1]])
    assert [bytes(file[:2].tolist()) for file in files] == [b"\xff\xd8"] * 2
    assert labels.shape == (2,)
    batch = data.finish(files, torch.device("cpu"), 0)  # by libjpeg there
    assert (batch.shape, batch.dtype) == ((2, 3, 32, 32), torch.float32)
    assert data.tally.to_dict()["device"] == 2
    assert data.tally.to_dict()["pil"] == 0


def test_the_device_cannot_decode_for_a_loader_that_augments(source: Source) -> None:
    with pytest.raises(WorkloadError, match="what the device decodes it must augment"):
        loaded(source, decode="device")


def test_resized_images_are_other_files_of_the_same_items(source: Source, images: Images) -> None:
    small = loaded(source, images="resized")
    assert [small[position][1] for position in range(6)] == [images[p][1] for p in range(6)]
    assert small.tally.to_dict() == {
        "pil": 6,
        "torchvision": 0,
        "device": 0,
        "resized_files": 6,
        "shorter_side": 37,
    }


def test_a_users_images_are_resized_into_the_cache(two_classes: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    own = Source(cache=cache, images=two_classes)
    data = Images(own, pixels=16, count=999, images="resized")
    assert all(Path(path).is_relative_to(cache) for path, _ in data.files)
    assert sorted(data[position][1] for position in range(4)) == [0, 0, 1, 1]
    assert data.tally.to_dict()["shorter_side"] == 18
    assert len(list((two_classes / "cat").iterdir())) == 2


def test_files_are_a_list_since_no_two_are_of_one_length() -> None:
    one, two = torch.zeros(3, dtype=torch.uint8), torch.zeros(5, dtype=torch.uint8)
    files, labels = collate_files([(one, 7), (two, 8)])
    assert files == [one, two]
    assert labels.tolist() == [7, 8]
