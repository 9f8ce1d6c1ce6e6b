"""`python -m benchmarks selfcheck NAME`: measures the measuring."""

import argparse
import importlib

CHECKS = (
    "controls",
    "bare_loop",
    "recipe_script",
    "loading",
    "attribution",
    "telemetry",
    "launching",
    "collection",
    "history",
)


def configure(parser: argparse.ArgumentParser) -> None:
    checks = parser.add_subparsers(metavar="CHECK", required=True)
    for name in CHECKS:
        module = importlib.import_module(f"benchmarks.selfcheck.{name}")
        check = checks.add_parser(name, help=module.HELP, description=module.HELP)
        module.configure(check)
        check.set_defaults(check=module.run)


def run(arguments: argparse.Namespace) -> int:
    code: int = arguments.check(arguments)
    return code
