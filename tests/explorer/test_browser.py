"""The page in a real browser: everything that a user does, and no error in the console.

Skipped, in words, where Playwright or Chromium are missing. Times are printed (pytest -s), and only
absurd ones fail.
"""

import ast
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import mercer

uvicorn = pytest.importorskip("uvicorn", reason="the explorer needs mercer[web]")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open the page in")

ABSURD = 30.0  # seconds
GOOD = "height,weight,colour,kind\n" + "\n".join(
    f"{i % 7 + (i % 2) * 9},{(i * i) % 11 + (i % 2) * 9},{'red' if i % 3 else 'blue'},{'ab'[i % 2]}"
    for i in range(60)
)


# --- an explorer and a browser ---------------------------------------------------------------


class Service:
    """An explorer on a port of its own, in a thread, that can be stopped and started again."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        from mercer.explorer.server import make_app

        config = uvicorn.Config(
            make_app(), port=self.port, log_level="error", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + ABSURD
        while not self.server.started:
            assert time.monotonic() < deadline, "the explorer did not start"
            time.sleep(0.02)

    def stop(self):
        self.server.should_exit = True
        self.thread.join(10)


@pytest.fixture(scope="module")
def service():
    one = Service()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        one = started.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield one
        one.close()


@contextmanager
def opened(browser, address, *, allowed=(), **options):
    """A page of a fresh user; errors in its console fail the test, unless they are foreseen."""
    options.setdefault("viewport", {"width": 1440, "height": 900})
    context = browser.new_context(accept_downloads=True, **options)
    page = context.new_page()
    errors, asked = [], []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    settle(page)
    yield page
    context.close()
    assert not [text for text in errors if not any(one in text for one in allowed)]
    foreign = [
        url for url in asked if not url.startswith((address.partition("?")[0], "data:", "blob:"))
    ]
    assert not foreign, "the page needs no network"


def settle(page):
    """Wait until the views are about the state in the address."""
    page.wait_for_selector("#grid[data-settled^='?']", timeout=1000 * ABSURD)


def shown(page):
    """Components kept, as the header tells them."""
    return page.locator("#facts dd").nth(3).inner_text()


def download(page, selector):
    with page.expect_download() as waiting:
        page.click(selector)
    return Path(waiting.value.path()), waiting.value.suggested_filename


def drag(page, selector, start, end):
    box = page.locator(f"{selector} .nsewdrag").first.bounding_box()
    at = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in (start, end)]
    page.mouse.move(*at[0])
    page.mouse.down()
    page.mouse.move(*at[1], steps=5)
    page.mouse.up()


# --- playing ---------------------------------------------------------------------------------


def test_load_slide_click_brush_and_reload(service, browser):
    with opened(browser, service.address) as page:
        assert shown(page) == "1, 2, 9"
        # slide: by keyboard, as by mouse
        page.focus("#sigma")
        before = page.input_value("#sigma-number")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        settle(page)
        assert float(page.input_value("#sigma-number")) > float(before)
        assert "bandwidth=" in page.url
        # a mark sets exactly its bandwidth
        page.click("#marks button:has-text('Silverman')")
        settle(page)
        assert page.input_value("#sigma-number") == "3.703"
        # a click on the ninth bar removes it, a chip brings it back
        bars = page.locator("#plot-spectrum .bars .point")
        bars.nth(8).click(force=True)
        page.wait_for_url("**picks=1*2*")
        settle(page)
        assert shown(page) == "1, 2"
        assert page.locator("#title-eca").inner_text() == "Picked components"
        page.click("#under-spectrum button[aria-label='Component 9']")
        settle(page)
        assert shown(page) == "1, 2, 9"
        page.click("#unpick")
        settle(page)
        assert "picks" not in page.url
        # brushing in one view marks rows in all of them, and lists them
        drag(page, "#plot-data", (0.4, 0.4), (0.6, 0.6))
        page.wait_for_selector("#rows-table tbody tr")
        assert page.locator("#rows-title").inner_text() == "63 selected rows"  # the inner ring
        assert page.locator("#rows-table tbody tr").count() == 63
        for plot in ("data", "eca", "pca", "clusters"):
            points = page.locator(f"#plot-{plot} .scatterlayer .point")
            faint = points.evaluate_all("all => all.filter(p => p.style.opacity < 0.5).length")
            assert faint == 315 - 63, plot
        path, _ = download(page, "#rows-csv")
        lines = path.read_text().splitlines()
        assert lines[0] == "row,x,y,class"
        assert len(lines) == 64
        assert all(line.endswith("inner") for line in lines[1:])
        page.click("#rows-clear")
        assert page.locator("#rows").is_hidden()
        # the address brings everything back
        page.fill("#components", "4")
        page.select_option("#colour", "cluster")
        page.press("#components", "Tab")
        settle(page)
        kept, address = shown(page), page.url
        page.reload()
        settle(page)
        assert (shown(page), page.url) == (kept, address)
        assert page.input_value("#components") == "4"
        assert page.input_value("#colour") == "cluster"


def test_turning_in_three_dimensions(service, browser):
    with opened(browser, service.address) as page:
        first = page.locator("#plot-eca .point").first
        page.focus("#plot-eca")
        before = first.get_attribute("transform")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**turn=35*")
        assert first.get_attribute("transform") != before
        box = page.locator("#plot-eca").bounding_box()
        page.mouse.move(box["x"] + 100, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 140, box["y"] + 100, steps=4)
        page.mouse.up()
        page.wait_for_url("**turn=15*")
        page.select_option("#dimensions", "2")
        page.wait_for_selector("#plot-eca .xtitle")
        assert page.locator("#plot-eca .xtitle").text_content() == "component 1"


def test_controls_and_every_table(service, browser):
    with opened(browser, service.address) as page:
        for table in ("wine", "machines", "iris"):
            page.select_option("#data", table)
            settle(page)
            assert page.locator("#facts dd").first.inner_text() == table
        page.select_option("#kernel", "polynomial")
        settle(page)
        assert page.locator("#degree").is_visible()
        assert page.locator("#width").is_hidden()
        page.select_option("#kernel", "gaussian")
        page.check("input[name=order][value=variance]")
        settle(page)
        assert shown(page) == "1, 2, 3"
        page.click("#columns-box summary")
        page.locator("#columns select").first.select_option("ignore")
        settle(page)
        assert "3 columns" in page.inner_text("#table-facts")
        # all cards can be reached, and are drawn when they come into sight
        page.select_option("#data", "rings")
        page.locator("#card-eigenfunctions").scroll_into_view_if_needed()
        page.wait_for_selector("#plot-eigenfunctions .contourlayer .contour")
        page.locator("#card-density").scroll_into_view_if_needed()
        page.wait_for_selector("#plot-density .contourlayer .contour")
        page.wait_for_selector("#plot-gram .heatmaplayer image")


# --- uploads ---------------------------------------------------------------------------------


def test_good_and_bad_uploads(service, browser):
    refused = ("422", "404")
    with opened(browser, service.address, allowed=refused) as page:
        before = shown(page)
        bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n3,4,5,6\n"}
        page.set_input_files("#file", bad)
        page.wait_for_selector("#trouble:not([hidden])")
        assert "bad.csv" in page.inner_text("#trouble-text")
        assert shown(page) == before  # the view survives
        good = {"name": "people.csv", "mimeType": "text/csv", "buffer": GOOD.encode()}
        page.set_input_files("#file", good)
        page.wait_for_function("() => document.title.startsWith('people.csv')")
        settle(page)
        assert page.locator("#trouble").is_hidden()
        page.click("#columns-box summary")
        page.locator("#columns label", has_text="kind").locator("select").select_option("label")
        settle(page)
        page.wait_for_selector("#plot-data .legendtext")
        assert page.locator("#plot-data .legendtext").all_text_contents() == ["a", "b"]
        address = page.url
        page.reload()
        settle(page)
        assert page.locator("#facts dd").first.inner_text() == "people.csv"
        # another user's browser does not see it, and says so
        with opened(browser, service.address, allowed=refused) as other:
            other.goto(address)
            other.wait_for_selector("#trouble:not([hidden])")
            assert "no data set" in other.inner_text("#trouble-text")
            other.select_option("#data", "wine")
            settle(other)
            assert other.locator("#trouble").is_hidden()


def test_two_tabs_have_views_of_their_own(service, browser):
    with opened(browser, service.address) as page:
        second = page.context.new_page()
        second.goto(service.address + "?data=wine")
        settle(second)
        page.fill("#sigma-number", "5")
        page.press("#sigma-number", "Enter")
        settle(page)
        assert second.locator("#facts dd").first.inner_text() == "wine"
        assert page.locator("#facts dd").first.inner_text() == "rings"
        assert page.locator("#facts dd").nth(2).inner_text() == "5"


def test_a_lost_connection_is_told_and_mended(browser):
    service = Service()
    try:
        with opened(browser, service.address, allowed=("ERR_CONNECTION_REFUSED",)) as page:
            service.stop()
            page.fill("#sigma-number", "4")
            page.press("#sigma-number", "Enter")
            page.wait_for_selector("#lost:not([hidden])")
            assert "lost" in page.inner_text("#lost-text")
            service.start()
            page.click("#retry")
            page.wait_for_selector("#lost", state="hidden")
            settle(page)
            assert page.locator("#facts dd").nth(2).inner_text() == "4"
    finally:
        service.stop()


# --- what one takes away ---------------------------------------------------------------------


def test_everything_can_be_taken_away(service, browser, tmp_path):
    with opened(
        browser,
        service.address + "?data=wine&bandwidth=3",
        viewport={"width": 1440, "height": 1700},
    ) as page:
        page.wait_for_selector("#plot-path .scatterlayer .point")
        for card in ("data", "spectrum", "path", "eca", "pca", "clusters", "density", "gram"):
            page.wait_for_selector(f"#plot-{card}.js-plotly-plot")
            picture, name = download(page, f"#png-{card}")
            assert name == f"mercer-{card}.png"
            assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
            assert picture.stat().st_size > 3000
        drawing, _ = download(page, "#svg-spectrum")
        text = drawing.read_text()
        assert text.startswith("<svg")
        assert "component, by eigenvalue" in text
        scores, name = download(page, "#get-scores")
        assert name == "scores.csv"
        lines = scores.read_text().splitlines()
        assert lines[0] == "row,class,cluster,component_1,component_2,component_3"
        assert len(lines) == 179
        model, name = download(page, "#get-model")
        assert name == "view.mercer"
        from sklearn.datasets import load_wine

        labels = [int(line.split(",")[2]) for line in lines[1:]]
        assert mercer.load(model).predict(load_wine(as_frame=True).data).tolist() == labels
        page.click("#show-code")
        page.wait_for_selector("#code-box[open]")
        code = page.inner_text("#code")
        ast.parse(code)
        file, _ = download(page, "#code-file")
        assert file.read_text().strip() == code.strip()
        page.click("#code-close")
        # the code, run by itself, gives the numbers of the CSV file and of the page
        tell = "\nimport json; print(json.dumps([labels.tolist(), scores[0].tolist(), share]))"
        done = subprocess.run(
            [sys.executable, "-c", code + tell],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(mercer.__file__).parents[1])},
        )
        found, first, share = json.loads(done.stdout.splitlines()[-1])
        assert found == labels
        np.testing.assert_allclose(first, [float(c) for c in lines[1].split(",")[3:]], atol=1e-9)
        assert page.locator("#facts dd").nth(4).inner_text() == f"{100 * share:.1f} %"


# --- times -----------------------------------------------------------------------------------


def test_times_of_a_slider(service, browser, rng, capsys):
    """Wanted: 0.6 s for 1000 points in 10-D, 2 s for a million in 2-D; 1 s after 20 fast steps."""
    ten = np.concatenate([rng.normal(at, 1, size=(250, 10)) for at in (0, 3, 6, 9)])
    plane = np.concatenate(
        [rng.normal(at, 0.4, size=(250_000, 2)) for at in ((0, 0), (3, 0), (0, 3), (3, 3))]
    )
    told = []
    with opened(browser, service.address) as page:
        for name, X in (("1,000 x 10", ten), ("1,000,000 x 2", plane)):
            file = io.BytesIO()
            np.save(file, X.astype(np.float32))
            page.set_input_files(
                "#file", {"name": f"{len(X)}.npy", "mimeType": "", "buffer": file.getvalue()}
            )
            page.wait_for_function(
                f"() => document.title.startsWith('{len(X)}.npy')", timeout=1000 * ABSURD
            )
            settle(page)
            page.wait_for_selector("#marks .best", timeout=1000 * ABSURD)  # the sweep is cached
            page.focus("#sigma")
            steps = []
            for _ in range(4):
                begin = time.perf_counter()
                page.keyboard.press("ArrowRight")
                settle(page)
                steps.append(time.perf_counter() - begin)
            for _ in range(20):
                page.keyboard.press("ArrowLeft")
            begin = time.perf_counter()
            settle(page)
            burst = time.perf_counter() - begin
            told.append(
                f"{name}: a step {np.median(steps):.2f} s (worst {max(steps):.2f}), "
                f"20 fast steps settle in {burst:.2f} s"
            )
            assert max(*steps, burst) < ABSURD
    with capsys.disabled():
        print("\n  " + "\n  ".join(told))


# --- for everybody ---------------------------------------------------------------------------


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there to fetch axe-core with")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [npm, "pack", "axe-core@4", "--silent"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    archives = list(folder.glob("axe-core-*.tgz"))
    if done.returncode or not archives:
        pytest.skip(f"axe-core cannot be fetched: {done.stderr.strip()[-200:]}")
    shutil.unpack_archive(archives[0], folder)
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_violation_of_accessibility(service, browser, axe, theme):
    options = {"color_scheme": theme, "bypass_csp": True}
    with opened(browser, service.address + "?data=wine&picks=1,3", **options) as page:
        page.wait_for_selector("#plot-path .scatterlayer .point")
        page.click("#under-clusters .chips button")
        page.wait_for_selector("#rows-table tbody tr")
        page.click("#columns-box summary")
        page.evaluate(axe)
        found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        serious = [
            f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:3]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, "\n".join(serious)
        page.click("#show-code")
        page.wait_for_selector("#code-box[open]")
        found = page.evaluate("() => axe.run('#code-box')")
        assert not [one for one in found["violations"] if one["impact"] in ("serious", "critical")]


def test_plots_have_words(service, browser):
    with opened(browser, service.address) as page:
        page.wait_for_selector("#plot-path .scatterlayer .point")
        for plot in page.locator(".plot").all():
            label = plot.get_attribute("aria-label")
            assert len(label) > 20, label
        page.locator("#under-spectrum details summary").click()
        cells = page.locator("#under-spectrum tbody tr").nth(8).locator("td").all_inner_texts()
        assert cells[0] == "9"
        assert cells[-1] == "yes"
        assert re.search(r"hold 99\.8 %", page.locator("#status").text_content())


@pytest.mark.parametrize("width", [800, 400])
def test_nothing_overflows_on_small_screens(service, browser, width):
    with opened(browser, service.address, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
