"""`python -m benchmarks techniques`: what there is to try, and what this machine can run."""

import argparse
import shutil
import sys

from benchmarks.catalogue import FORMATS, Entry, as_json, as_listings, entries
from benchmarks.hardware import Hardware, glance, probe_in_child
from benchmarks.options import DEVICES
from results import listing


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=DEVICES, help="train on this (default: the accelerator, else the CPU)"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="default: for the terminal; Markdown where the output goes elsewhere",
    )


def run(arguments: argparse.Namespace) -> int:
    hardware = probe_in_child()
    device = arguments.device or hardware.accelerator or "cpu"
    found = entries(hardware, glance(), device)
    print(rendered(found, hardware, device, arguments.format), end="")
    return 0


def rendered(found: list[Entry], hardware: Hardware, device: str, wanted: str | None) -> str:
    if wanted == "json":
        return as_json(found)
    pages = as_listings(found, hardware, device)
    on_terminal = sys.stdout.isatty()
    if wanted == "terminal" or (wanted is None and on_terminal):
        width = shutil.get_terminal_size((100, 24)).columns
        return "\n".join(listing.terminal(page, width, colour=on_terminal) for page in pages)
    return "\n".join(listing.markdown(page) for page in pages)
