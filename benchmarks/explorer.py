"""Response times of the explorer with twenty concurrent users, and in a browser.

Each simulated user has one request in flight and then requests the newest bandwidth, as the page
does. Half of the users have wine or rings, half have their own table of 1000 rows and 10 columns.
The explorer runs in another process, whose memory is measured. The browser (Chromium, software
rendering) is driven by Playwright if both are installed.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from benchmarks.measure import table

USERS = int(os.environ.get("MERCER_USERS", "20"))
SECONDS = float(os.environ.get("MERCER_SECONDS", "60"))
VIEWS = "points,data,spectrum,embedding,clusters"
SERVE = "from mercer.explorer import explore; explore(open_browser=False)"


def clouds(n: int, d: int) -> bytes:
    """Return four Gaussian clusters as an NPY file."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(3 * i, 1, size=(n // 4, d)) for i in range(4)])
    file = io.BytesIO()
    np.save(file, X.astype(np.float32))
    return file.getvalue()


@contextmanager
def explorer() -> Iterator[tuple[str, str, int]]:
    """Start an explorer; yield its address, its token and its process id."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVE], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = re.search(r"(http://\S+)/\?token=(\S+)", process.stdout.readline())
    assert found is not None
    address, token = found.groups()
    try:
        for _ in range(600):
            try:
                httpx.get(f"{address}/api/start")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield address, token, process.pid
    finally:
        process.terminate()
        process.wait()


def resident(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1e3


@dataclass
class Log:
    """Response times and errors of one user."""

    kind: str
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


async def simulate_user(address: str, token: str, number: int, until: float, log: Log) -> None:
    """Simulate one user who moves the slider up and down, until the time ``until``."""
    headers, limits = {"authorization": f"Bearer {token}"}, httpx.Timeout(60)
    async with httpx.AsyncClient(base_url=address, timeout=limits, headers=headers) as client:
        if log.kind == "1,000 x 10":
            response = await client.post("/api/upload?name=clouds.npy", content=clouds(1000, 10))
            data = response.json()["data"]
        else:
            data = log.kind
        first = await client.get(f"/api/views?data={data}&show={VIEWS}")
        marks = first.json()["summary"]["marks"]
        grid = np.geomspace(marks["low"] * 2, marks["high"], 120)
        step = number
        while time.monotonic() < until:
            index = abs((step % 238) - 119)
            step += 1
            begin = time.perf_counter()
            response = await client.get(
                f"/api/views?data={data}&bandwidth={grid[index]:.6g}&show={VIEWS}",
                headers={"x-mercer-tab": str(number)},
            )
            log.times.append(time.perf_counter() - begin)
            if response.status_code != 200:
                log.errors.append(f"{response.status_code} {response.text[:80]}")
            await asyncio.sleep(0.05)  # time to draw


async def simulate_users(address: str, token: str, pid: int) -> tuple[list[Log], list[float]]:
    """Simulate all users at once; measure the memory after each quarter of the time."""
    until = time.monotonic() + SECONDS
    logs = [Log(("rings", "wine", "1,000 x 10", "1,000 x 10")[i % 4]) for i in range(USERS)]
    memory: list[float] = []

    async def watch() -> None:
        for quarter in range(1, 5):
            await asyncio.sleep(max(0.0, until - SECONDS * (1 - quarter / 4) - time.monotonic()))
            memory.append(resident(pid))

    users = [simulate_user(address, token, i, until, log) for i, log in enumerate(logs)]
    await asyncio.gather(watch(), *users)
    return logs, memory


def load_times() -> str:
    """Return the table of response times, errors and memory with many users."""
    with explorer() as (address, token, pid):
        before = resident(pid)
        logs, memory = asyncio.run(simulate_users(address, token, pid))
    rows = []
    for kind in ("rings", "wine", "1,000 x 10", "all"):
        selected = [log for log in logs if kind in (log.kind, "all")]
        times = np.concatenate([log.times for log in selected])
        errors = [error for log in selected for error in log.errors]
        median, high = np.quantile(times, [0.5, 0.95])
        rows.append(
            (
                kind,
                str(len(selected)),
                str(len(times)),
                f"{median:.2f}",
                f"{high:.2f}",
                str(len(errors)),
            )
        )
        if errors and kind == "all":
            print(f"errors: {sorted(set(errors))[:3]}")
    quarters = ", ".join(f"{m:.0f}" for m in memory)
    memory_text = f"memory in MB: {before:.0f} before, then {quarters}"
    title = f"Explorer: {USERS} users for {SECONDS:.0f} s; {memory_text}"
    return table(title, rows, ("data", "users", "steps", "median s", "95 % s", "errors"))


def browser() -> str:
    """Return the table of times in Chromium until the views are drawn."""
    from playwright.sync_api import sync_playwright

    rows = []
    with explorer() as (address, token, _), sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        chromium = started.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        settled = "#grid[data-settled^='?']"
        begin = time.perf_counter()
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector(settled)
        rows.append(("rings", "first view", f"{time.perf_counter() - begin:.2f}", ""))
        for name, content in (
            ("1,000 x 10", clouds(1000, 10)),
            ("1,000,000 x 2", clouds(1_000_000, 2)),
        ):
            file = {"name": f"{name}.npy", "mimeType": "", "buffer": content}
            begin = time.perf_counter()
            page.set_input_files("#file", file)
            page.locator("#facts dd", has_text=name).wait_for()
            page.wait_for_selector(settled)
            rows.append((name, "upload and first view", f"{time.perf_counter() - begin:.2f}", ""))
            page.wait_for_selector("#marks .best", timeout=60_000)
            page.focus("#sigma")
            steps = []
            for _ in range(15):
                begin = time.perf_counter()
                page.keyboard.press("ArrowRight")
                page.wait_for_selector(settled)
                steps.append(time.perf_counter() - begin)
            rows.append((name, "one step", f"{np.median(steps):.2f}", f"{max(steps):.2f}"))
            for _ in range(20):
                page.keyboard.press("ArrowLeft")
            begin = time.perf_counter()
            page.wait_for_selector(settled)
            rows.append((name, "after 20 fast steps", f"{time.perf_counter() - begin:.2f}", ""))
        chromium.close()
    return table(
        "Explorer in Chromium, 1440 x 900", rows, ("data", "action", "median s", "maximum s")
    )


def tables() -> Iterator[str]:
    """Yield all tables of this module."""
    yield load_times()
    try:
        import playwright  # noqa: F401
    except ModuleNotFoundError:
        print("Browser benchmark skipped: playwright is not installed")
        return
    if shutil.which("chromium") is None:
        print("Browser benchmark skipped: Chromium is not installed")
        return
    yield browser()
