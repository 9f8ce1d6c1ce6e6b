"""pytest's side of the suite: options, selection, the one fixture that cases use, the end."""

import os
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks import options
from benchmarks.benchmark_json import add_records, benchmark_json
from benchmarks.cell import Cell
from benchmarks.hardware import glance
from benchmarks.looking import look_at, worth_a_look
from benchmarks.matrix import Scope
from benchmarks.measuring import measure_cell
from benchmarks.progress import Screen
from benchmarks.replay import ReplayClock, replay, step_durations, timer_of
from benchmarks.suite import FAULTS_BEFORE_MEASURING, Suite
from results.record import Record
from results.store import StoreError

OPTIONS = pytest.StashKey[options.Options]()
SCOPE = pytest.StashKey[Scope]()
SUITE = pytest.StashKey[Suite]()
SCREEN = pytest.StashKey[Screen]()
KEPT = pytest.StashKey[dict[str, Record]]()  # what a resumed run holds already, by case
CLOCK = pytest.StashKey[ReplayClock]()
RUNS = Path(__file__).parent.parent / "results" / "runs"
USAGE = 2  # exit code for what the user can mend before anything is measured

Measure = Callable[[Cell], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("training acceleration")
    for name, details in options.HELP.items():
        flag = details.get("action") == "store_true"
        value = {} if flag else {"metavar": "VALUE"}
        group.addoption(name, default=None, **value, **details)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "cells(of): the function from a Scope to the cells of a case"
    )
    if config.getoption("numprocesses", None):
        pytest.exit("-n: cells measured at the same time disturb each other; leave it out", USAGE)
    try:
        chosen = options.read(config.getoption, RUNS)
    except options.OptionError as error:
        pytest.exit(str(error), USAGE)
    config.stash[OPTIONS] = chosen
    config.option.benchmark_quiet = True  # its table of absolute times is not ours
    if config.option.verbose == 0:
        config.option.verbose = -1  # the run has lines of its own
    seen = glance()
    devices = chosen.devices or default_devices(seen.devices)
    config.stash[SCOPE] = Scope(chosen.workloads, devices, seen, chosen.named)


def default_devices(found: Any) -> tuple[str, ...]:
    """The accelerator; a CPU where there is none."""
    return tuple(name for name in ("cuda", "xpu", "mps") if found.get(name)) or ("cpu",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("cells")
        assert marker is not None
        cells = marker.kwargs["of"](metafunc.config.stash[SCOPE])
        metafunc.parametrize("cell", cells, ids=[cell.id for cell in cells])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The quick tier, unless another is asked for or cases are selected by the user."""
    items[:] = filter(has_cell, items)
    for item in items:
        item.stash[CLOCK] = ReplayClock()
        item.add_marker(
            pytest.mark.benchmark(timer=timer_of(item.stash[CLOCK]), group=cell_of(item).label)
        )
    if not is_quick(config):
        return
    left_out = [item for item in items if not cell_of(item).quick]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if cell_of(item).quick]


def is_quick(config: pytest.Config) -> bool:
    tier = config.stash[OPTIONS].tier
    if tier is not None:
        return tier == "quick"
    return not config.option.keyword and not any(map(names_cases, config.args))


def names_cases(argument: str) -> bool:
    """Whether it names cases or a file of them; of a whole folder, the quick tier is meant."""
    return "::" in argument or argument.endswith(".py")


def has_cell(item: pytest.Item) -> bool:
    """pytest makes one item of a case without any cell: of a workload that has no target loss."""
    return isinstance(item, pytest.Function) and isinstance(item.callspec.params["cell"], Cell)


def cell_of(item: pytest.Item) -> Cell:
    assert isinstance(item, pytest.Function)
    return cast(Cell, item.callspec.params["cell"])


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Opens the run before the first cell; closes it whatever happens."""
    config = session.config
    if config.option.collectonly or not session.items:
        return (yield)
    suite = Suite(config.stash[OPTIONS], is_quick(config))
    # cases run while pytest captures its own output: the screen is a way past it
    with closing(suite), os.fdopen(os.dup(1), "w") as terminal:
        try:
            suite.open([cell_of(item) for item in session.items])
        except FAULTS_BEFORE_MEASURING as error:
            pytest.exit(str(error), USAGE)
        finished = suite.finished
        config.stash[KEPT] = {r.cell: r for r in suite.run.records() if r.cell in finished}
        items = [item for item in session.items if item.name not in finished]
        screen = Screen(terminal, len(items), suite.elapsed_s, suite.budget_left_s)
        config.stash[SUITE], config.stash[SCREEN] = suite, screen
        screen.say(f"run {suite.run.path.name}, {len(items)} cells")
        with screen:
            result = yield
        look_inside(suite, screen, items)
        return result


def look_inside(suite: Suite, screen: Screen, items: list[pytest.Item]) -> None:
    """After the last cell: where the time goes in those that the options name."""
    cells = {item.name: cell_of(item) for item in items}
    for record in worth_a_look(suite.options, [r for r in suite.run.records() if r.cell in cells]):
        screen.say(f"looking inside {record.cell}")
        look_at(suite, record, cells[record.cell])


@pytest.fixture
def measure(request: pytest.FixtureRequest) -> Measure:
    """Measures a cell, keeps its record, and passes, skips or fails accordingly."""
    config = request.config
    suite, screen = config.stash[SUITE], config.stash[SCREEN]

    def new_record(cell: Cell) -> Record:
        screen.cell_begins(request.node.name)
        try:
            record = measure_cell(suite, request.node.name, cell)
        except StoreError as error:
            pytest.exit(str(error), pytest.ExitCode.INTERNAL_ERROR)
        screen.cell_ends(record)
        return record

    def measure(cell: Cell) -> None:
        record = config.stash[KEPT].get(request.node.name) or new_record(cell)
        if record.outcome in ("skipped", "not_run"):
            pytest.skip(record.reason or "")
        if record.outcome != "ok" and not (record.outcome == "timed_out" and record.verdict):
            said = "".join(f"\n  | {line}" for line in record.log)
            pytest.fail(f"{record.outcome}: {record.reason}{said}", pytrace=False)
        if record.blocks:
            benchmark = request.getfixturevalue("benchmark")
            replay(benchmark, request.node.stash[CLOCK], step_durations(record))

    return measure


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """No dots: the run's own lines say more."""
    if report.when == "call" and SCREEN in config.stash:
        return report.outcome, "", report.outcome.upper()
    return None


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    suite = config.stash.get(SUITE, None)
    if suite is not None:
        add_records(output_json, suite.run.records())


def pytest_sessionfinish(session: pytest.Session) -> None:
    suite = session.config.stash.get(SUITE, None)
    if suite is None:
        return
    from results.publish import write_tables

    try:
        write_tables(suite.run)
        suite.run.write_text(suite.run.benchmark_path, benchmark_json(session.config))
    except StoreError as error:
        session.config.get_terminal_writer().line(str(error), red=True)
        session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    suite = terminalreporter.config.stash.get(SUITE, None)
    if suite is None:
        return
    from benchmarks.closing import closing_screen

    terminalreporter.ensure_newline()
    writer = terminalreporter._tw
    writer.write(closing_screen(suite.run, writer.fullwidth, writer.hasmarkup))
