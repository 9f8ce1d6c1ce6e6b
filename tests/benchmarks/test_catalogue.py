"""The list of techniques: everything once a family, and why a machine cannot run it."""

import json
from dataclasses import replace

from benchmarks.catalogue import MATRIX, Entry, as_json, as_listings, entries, entry
from benchmarks.setting import Setting
from benchmarks.techniques import AMP_BF16, DP, FAMILIES, IMAGES, Technique
from tests.benchmarks.machines import at_a_glance, hardware


def named(found: list[Entry], name: str, family: str = MATRIX) -> Entry:
    (one,) = [each for each in found if (each.family, each.technique) == (family, name)]
    return one


def test_lists_the_matrix_and_every_family_without_plain_values() -> None:
    found = entries(hardware(cores=4), at_a_glance(cores=4), "cpu")
    assert {each.family for each in found} == {MATRIX, *FAMILIES}
    assert not {"workers0", "fp32", "single"} & {each.technique for each in found}


def test_says_what_this_machine_lacks() -> None:
    found = entries(hardware(), at_a_glance(), "cpu")
    assert named(found, "dp").impossible == "dp needs 2 GPUs, found 0"
    assert named(found, "amp_bf16").impossible is None


def test_a_device_that_is_not_there_makes_everything_impossible() -> None:
    found = entries(hardware(), at_a_glance(), "cuda")
    assert all("cuda" in (each.impossible or "") for each in found)


def test_two_gpus_run_what_one_machine_without_cannot() -> None:
    machine = hardware(gpus=2)
    assert entry(MATRIX, DP, machine, "cuda").impossible is None


def test_what_it_stands_on_and_what_it_is_for_are_shown() -> None:
    images = Technique(
        name="layout",
        change={"memory_format": "channels_last"},
        why="-",
        api="-",
        on=(AMP_BF16,),
        only_for=IMAGES,
    )
    (page,) = as_listings([entry("layout", images, hardware(), "cpu")], hardware(), "cpu")
    (row,) = page.rows
    assert "memory_format=channels_last, on amp_bf16" in row
    assert "yes, for image workloads" in row
    assert page.lines[0].startswith("1 of 1 techniques can run here on cpu")


def test_ground_that_is_lacking_counts_too() -> None:
    def never(_: object, setting: Setting) -> str:
        return f"ground is lacking for {setting.precision}"

    on = (replace(AMP_BF16, needs=never),)
    standing = replace(DP, name="x", change={"zero_grad": "to_zero"}, on=on, needs=AMP_BF16.needs)
    assert entry("x", standing, hardware(), "cpu").impossible == "ground is lacking for amp_bf16"


def test_json_has_a_field_for_everything() -> None:
    found = entries(hardware(), at_a_glance(), "cpu")
    listed = json.loads(as_json(found))["techniques"]
    assert len(listed) == len(found)
    assert {"family", "technique", "change", "on", "only_for", "why", "api", "impossible"} == set(
        listed[0]
    )
