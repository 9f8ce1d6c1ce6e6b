"""A batch is augmented as its images would be one by one, with random numbers of its own."""

import torch
from PIL import Image

from workloads.augmentation import MEAN, STD, augment_batch, augmentation, shrinking, stored_side


def test_normalisation_takes_imagenets_mean_to_zero() -> None:
    average = Image.new("RGB", (50, 50), (124, 116, 104))  # 255 x MEAN, rounded
    assert augmentation(8)(average).abs().max() < 0.01


def test_images_are_stored_as_large_as_imagenets_are() -> None:
    assert stored_side(224) == 256


def test_shrinking_keeps_the_shape_of_things_and_takes_the_centre() -> None:
    wide = Image.new("RGB", (100, 40), "red")
    wide.paste("blue", (0, 0, 20, 40))
    shrunk = shrinking(28)(wide)
    assert (shrunk.shape, shrunk.dtype) == ((3, 32, 32), torch.uint8)
    assert shrunk[0].min() == 255  # nothing of the left margin


def test_a_batch_is_normalised_as_one_image_is() -> None:
    colours = torch.tensor([[10, 20, 30], [200, 100, 50]], dtype=torch.uint8)
    images = colours[:, :, None, None].expand(-1, -1, 9, 9).contiguous()
    batch = augment_batch(images, 8, seed=0)
    wanted = (colours / 255 - torch.tensor(MEAN)) / torch.tensor(STD)
    assert batch.shape == (2, 3, 8, 8)
    torch.testing.assert_close(batch, wanted[:, :, None, None].expand_as(batch))


def test_each_image_of_a_batch_is_cropped_and_flipped_for_itself() -> None:
    gradient = torch.arange(64, dtype=torch.uint8).expand(3, 64, 64)  # brighter to the right
    batch = augment_batch(gradient.expand(16, 3, 64, 64), 8, seed=0)
    lefts, rights = batch[:, 0, 0, 0], batch[:, 0, 0, -1]
    assert len(set(lefts.tolist())) > 8
    assert 0 < (lefts > rights).sum() < 16


def test_the_seed_decides_and_the_callers_generator_is_left_alone() -> None:
    images = torch.randint(0, 255, (4, 3, 20, 20), dtype=torch.uint8)
    before = torch.get_rng_state()
    first = augment_batch(images, 8, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, augment_batch(images, 8, seed=1))
    assert not torch.equal(first, augment_batch(images, 8, seed=2))


def test_images_of_unequal_size_become_one_batch() -> None:
    images = [torch.zeros(3, 20, 30, dtype=torch.uint8), torch.zeros(3, 40, 25, dtype=torch.uint8)]
    assert augment_batch(images, 8, seed=0).shape == (2, 3, 8, 8)
