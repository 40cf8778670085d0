"""``mercer monitor``: control charts of a process."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from mercer.cli.console import Messages, UsageError
from mercer.cli.options import Data, Flag

__all__ = ["monitor"]

_TABLES = (".csv", ".tsv", ".parquet")
_PAGES = (".html", ".htm")


def _parse_lags(kind: Any, tokens: Any) -> int | str:
    text: str = tokens[0].value
    if text == "auto":
        return text
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise ValueError(f"{text!r} is not an integer >= 0 or auto")
    return value


def monitor(
    normal: Data,
    new: Data | None = None,
    /,
    *,
    time: str | None = None,
    ignore: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    lags: Annotated[int | str, Parameter(converter=_parse_lags, n_tokens=1)] = "auto",
    false_alarm_rate: Annotated[float, Parameter(validator=Number(gt=0, lt=0.5))] = 0.01,
    average_run_length: Annotated[float | None, Parameter(validator=Number(gte=2))] = None,
    chart: Literal["ewma", "statistic", "cusum"] = "ewma",
    out: Path | None = None,
    model: Path | None = None,
    apply: Path | None = None,
    json: Flag = False,
    follow: Flag = False,
    interval: Annotated[float, Parameter(validator=Number(gt=0))] = 1.0,
    idle: Annotated[float | None, Parameter(validator=Number(gt=0))] = None,
    quiet: Flag = False,
    verbose: Flag = False,
) -> int:
    """Learn normal operation of a process from one table and monitor another one.

    Prints the alarms and the variables with the largest contributions. Rows are in time order.

    For example:

    - `mercer monitor normal.csv new.csv --time timestamp --out page.html`
    - `mercer monitor normal.csv new.csv --time timestamp --out charts.csv`
    - `mercer monitor normal.csv growing.csv --time timestamp --follow`
    - `mercer monitor normal.csv --time timestamp --model normal.mercer`
    - `mercer monitor new.csv --apply normal.mercer`

    Parameters
    ----------
    normal
        CSV, TSV, Parquet or NPY file of normal operation, without faults. With --apply: the file to
        monitor.
    new
        File with the same columns to monitor.
    time
        Column with the times.
    ignore
        Column to ignore. Can be given several times.
    lags
        Number of earlier rows that are part of each row.
    false_alarm_rate
        Fraction of normal rows with an alarm.
    average_run_length
        Mean number of normal rows until the first alarm, instead of a false-alarm rate.
    chart
        Chart that raises the alarms: moving average, statistic of single rows, or cumulative sum.
    out
        Write a page with charts, alarms and variables (.html), or the charts and contributions of
        all rows (.csv, .tsv or .parquet).
    model
        Save the model of normal operation to this file.
    apply
        Apply the model in this file (saved with --model) instead of fitting one.
    json
        Print JSON with all digits.
    follow
        Wait for rows that are appended to the CSV or TSV file, and print alarms as they come.
        Ctrl-C ends it.
    interval
        Seconds between two looks at a followed file.
    idle
        End --follow after this many seconds without new rows.
    quiet
        Print errors only.
    verbose
        Print the traceback of an error.
    """
    from mercer import ProcessMonitor, save
    from mercer.cli.files import check_file

    if out is not None:
        if out.suffix.lower() not in _TABLES + _PAGES:
            raise UsageError(
                f"--out {out} must end in {', '.join(_PAGES + _TABLES)}. Choose another name."
            )
        check_file(out)
    if follow and (out is not None or json):
        raise UsageError("--follow prints alarms only. Drop --out and --json, or --follow.")
    estimator = ProcessMonitor(
        n_lags=lags if lags == "auto" else int(lags),
        false_alarm_rate=false_alarm_rate,
        average_run_length=average_run_length,
        chart=chart,
        time=time,
    )
    _check_usage(estimator, new, model, apply)
    messages = Messages(quiet)
    with messages.showing_warnings() as warned:
        if apply is None:
            estimator.fit(_read(normal, ignore, time, messages))
        else:
            normal, new, estimator = apply.name, normal, _load(apply)
            time = estimator.time
        if model is not None:
            save(estimator, model)
            messages.print(f"model: {model}")
        if new is None:
            return 0
        if follow:
            from mercer.cli.following import follow_file

            return follow_file(
                estimator, Path(new), ignore, interval=interval, idle=idle, messages=messages
            )
        rows = _read(new, ignore, time, messages)
        frame = estimator.monitor(rows)
        contributions = estimator.contributions(rows)
    _report(normal, new, estimator, frame, contributions, warned, json=json)
    if out is not None:
        _write(out, normal, new, estimator, frame, contributions, warned)
        messages.print(f"{'page' if out.suffix.lower() in _PAGES else 'charts'}: {out}")
    return 0


def _check_usage(estimator: Any, new: str | None, model: Path | None, apply: Path | None) -> None:
    if apply is None:
        if new is None and model is None:
            raise UsageError("Pass a second file to monitor, or --model FILE to save the model.")
        return
    given = [] if model is None else ["--model"]
    for name, value in type(estimator)().get_params().items():
        if getattr(estimator, name) != value:
            given.append("--" + {"n_lags": "lags"}.get(name, name).replace("_", "-"))
    if given:
        raise UsageError(
            f"{given[0]} cannot be used with --apply, which uses the model as it was fitted."
        )
    if new is not None:
        raise UsageError("With --apply, pass one file: the one to monitor.")


def _load(path: Path) -> Any:
    from mercer import ProcessMonitor, load

    found = load(path)
    if not isinstance(found, ProcessMonitor):
        raise ValueError(
            f"{path} contains a {type(found).__name__}, not the model of a process. Save one with: "
            "mercer monitor NORMAL --model FILE"
        )
    return found


def _read(path: str, ignore: tuple[str, ...], time: str | None, messages: Messages) -> Any:
    """Return the numeric columns and the time column of a file."""
    from pandas.api.types import is_numeric_dtype

    from mercer.tables.readers import read_frame

    frame, notes = read_frame(path)
    for note in notes:
        messages.print(f"  note: {note}")
    unknown = [name for name in ignore if name not in frame.columns]
    if unknown:
        raise ValueError(f"--ignore {unknown[0]}: {path} has no such column.")
    frame = frame.drop(columns=list(ignore))
    texts = [
        name for name in frame.columns if name != time and not is_numeric_dtype(frame[name].dtype)
    ]
    if texts:
        hint = "" if time else " If it holds the times, use --time."
        raise ValueError(
            f"{path}: column {texts[0]!r} is not numeric. Use --ignore {texts[0]}.{hint}"
        )
    return frame


def _report(
    normal: str,
    new: str,
    estimator: Any,
    frame: Any,
    contributions: Any,
    warned: list[str],
    *,
    json: bool,
) -> None:
    from mercer.report.monitoring import alarm_episodes

    episodes = alarm_episodes(frame, contributions)
    if json:
        results = {
            "normal": normal,
            "data": new,
            "rows": len(frame),
            "alarms": int(frame["alarm"].sum()),
            "n_lags": estimator.n_lags_,
            "limits": estimator.limits_,
            "correlation_time": estimator.correlation_time_,
            "episodes": [
                {
                    "begin": e.begin,
                    "end": e.end,
                    "first_row": e.first,
                    "rows": e.n_rows,
                    "variables": e.variables,
                }
                for e in episodes
            ],
            "charts": {
                name: [None if v != v else v for v in frame[name].tolist()]
                for name in ("statistic", "ewma", "cusum", "alarm")
            },
            "warnings": warned,
        }
        print(json_.dumps(results, indent=2, ensure_ascii=False))
        return
    print(f"{int(frame['alarm'].sum())} of {len(frame)} rows with an alarm")
    if not episodes:
        return
    printed = sorted(episodes, key=lambda one: -one.n_rows)[:10]  # most important first
    width = max(len(e.begin) for e in printed)
    print(f"{'begin':{width}}   rows  leading variables")
    for e in printed:
        print(f"{e.begin:{width}} {e.n_rows:6d}  {', '.join(e.variables)}")
    if len(episodes) > len(printed):
        print(f"… and {len(episodes) - len(printed)} shorter episodes")


def _write(
    out: Path,
    normal: str,
    new: str,
    estimator: Any,
    frame: Any,
    contributions: Any,
    warned: list[str],
) -> None:
    from mercer.cli.files import encode_frame, write_file

    if out.suffix.lower() in _PAGES:
        from mercer.report.monitoring import monitoring_page

        page = monitoring_page(
            Path(new).name, Path(normal).name, estimator, frame, contributions, warned
        )
        write_file(out, page.encode())
        return
    table = frame.join(contributions.add_prefix("contribution_"))
    if table.index.name is None:
        table.index.name = "row"
    write_file(out, encode_frame(table.reset_index(), out.suffix.lower()))
