"""The last screen of a run: its tables, and where they are on disk."""

from pathlib import Path

from results.calibration import kept, sentence
from results.render import one_line, terminal
from results.store import RunFolder
from results.summary import summary
from results.table import workload_tables
from results.where import where_terminal


def closing_screen(run: RunFolder, width: int, colour: bool) -> str:
    records = run.records()
    files = (run.table_markdown_path, run.table_csv_path, run.benchmark_path, run.records_path)
    lines = [
        *map(one_line, [*summary(records), *calibrations(run)]),
        "",
        f"{shown(run.path)}: {', '.join(path.name for path in files if path.exists())}",
        "",
    ]
    tables = terminal(workload_tables(records), width, colour=colour)
    return tables + where_terminal(records, width, colour=colour) + "\n".join(lines)


def calibrations(run: RunFolder) -> list[str]:
    """What this machine's calibrations say, where it has any."""
    environment = run.environment()
    options = environment.get("options", {})
    cache, devices = options.get("cache"), options.get("devices") or ()
    if not cache:
        return []
    found = (kept(Path(cache), str(environment.get("machine")), device) for device in devices)
    return [sentence(each) for each in found if each is not None]


def shown(path: Path) -> str:
    """Relative to where the user stands, if it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
