"""channels_last is believed by strides alone."""

import pytest
import torch

from benchmarks.setting import Setting
from benchmarks.techniques import checks
from benchmarks.training.layout import layouts
from tests.benchmarks.small_training import training
from tests.benchmarks.techniques.pictures import PICTURES, losses_of
from tests.benchmarks.techniques.seen import believed, seen_of

LAST = Setting(memory_format="channels_last")


def test_weights_inputs_and_activations_have_the_layout() -> None:
    with training(PICTURES, memory_format="channels_last") as trained:
        trained.step()
        evidence = seen_of(trained)
    for what in ("weight_layouts", "input_layouts", "activation_layouts"):
        assert evidence[what] == ["channels_last"]
        assert not believed("layout", LAST, evidence, **{what: ["contiguous"]})
    assert believed("layout", LAST, evidence)
    assert not believed("layout", Setting(), evidence)


def test_the_plain_arm_has_none_of_it() -> None:
    with training(PICTURES) as trained:
        evidence = seen_of(trained)
    assert evidence["weight_layouts"] == evidence["input_layouts"] == ["contiguous"]
    assert believed("layout", Setting(), evidence)
    assert not believed("layout", LAST, evidence)


def test_the_losses_are_those_of_contiguous_images() -> None:
    with training(PICTURES) as plain:
        expected = losses_of(plain, 4)
    with training(PICTURES, memory_format="channels_last") as trained:
        assert losses_of(trained, 4) == pytest.approx(expected, rel=1e-5)


def test_where_nothing_has_four_dimensions_there_is_nothing_to_say() -> None:
    with training() as trained:
        assert checks()["layout"](Setting(), seen_of(trained)) is None


def test_a_layout_shows_only_where_the_two_differ() -> None:
    image = torch.zeros(2, 3, 4, 4)
    assert layouts([image]) == ["contiguous"]
    assert layouts([image.to(memory_format=torch.channels_last)]) == ["channels_last"]
    assert layouts([torch.zeros(8, 3, 1, 1), torch.zeros(2, 1, 4, 4), torch.zeros(5)]) == []
    assert layouts([image.transpose(0, 2)]) == ["strided"]
