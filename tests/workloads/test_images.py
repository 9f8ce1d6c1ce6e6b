"""Images are read, decoded and augmented; what a position holds depends on nothing else."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from workloads import Source, WorkloadError
from workloads.images import Images, augmentation, decode, list_files


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


def test_file_that_is_no_image_is_named(tmp_path: Path) -> None:
    (tmp_path / "not.jpg").write_text("text")
    with pytest.raises(WorkloadError, match=r"cannot read image .*not\.jpg: remove or replace it"):
        decode(tmp_path / "not.jpg")


def test_grey_file_becomes_rgb(tmp_path: Path) -> None:
    Image.new("L", (40, 30), 128).save(tmp_path / "grey.png")
    assert decode(tmp_path / "grey.png").mode == "RGB"


def test_normalisation_takes_imagenets_mean_to_zero() -> None:
    average = Image.new("RGB", (50, 50), (124, 116, 104))  # 255 x MEAN, rounded
    assert augmentation(8)(average).abs().max() < 0.01
