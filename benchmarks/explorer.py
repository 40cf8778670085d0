"""Response times of the explorer, and times in a browser.

The explorer runs in another process, whose memory is measured. The browser (Chromium, software
rendering) is driven by Playwright if both are installed.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

from benchmarks.measure import table

STEPS = 60
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


def slider_times() -> str:
    """Return the table of response times while one user moves the bandwidth slider."""
    rows = []
    with explorer() as (address, token, pid):
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=address, timeout=60, headers=headers) as client:
            upload = client.post("/api/upload?name=clouds.npy", content=clouds(1000, 10))
            for name, data in (
                ("rings", "rings"),
                ("wine", "wine"),
                ("1,000 x 10", upload.json()["data"]),
            ):
                first = client.get(f"/api/views?data={data}&show={VIEWS}")
                marks = first.json()["summary"]["marks"]
                times = []
                for bandwidth in np.geomspace(2 * marks["low"], marks["high"], STEPS):
                    begin = time.perf_counter()
                    client.get(f"/api/views?data={data}&bandwidth={bandwidth:.6g}&show={VIEWS}")
                    times.append(time.perf_counter() - begin)
                median, high = np.quantile(times, [0.5, 0.95])
                rows.append((name, f"{median:.2f}", f"{high:.2f}"))
        title = f"Explorer: steps of the slider; memory at the end {resident(pid):.0f} MB"
    return table(title, rows, ("data", "median s", "95 % s"))


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
    yield slider_times()
    try:
        import playwright  # noqa: F401
    except ModuleNotFoundError:
        print("Browser benchmark skipped: playwright is not installed")
        return
    if shutil.which("chromium") is None:
        print("Browser benchmark skipped: Chromium is not installed")
        return
    yield browser()
