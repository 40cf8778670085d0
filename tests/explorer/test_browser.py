"""The page of the explorer in a browser. Skipped if Playwright or Chromium is missing."""

import ast
import json
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
from tests.processes import environment

uvicorn = pytest.importorskip("uvicorn", reason="the explorer needs mercer[web]")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

TIMEOUT = 30.0  # seconds
GOOD = "height,weight,color,kind\n" + "\n".join(
    f"{i % 7 + (i % 2) * 9},{(i * i) % 11 + (i % 2) * 9},{'red' if i % 3 else 'blue'},{'ab'[i % 2]}"
    for i in range(60)
)


# --- server and browser ----------------------------------------------------------------------


class Server:
    """An explorer in a thread, which can be stopped and started again on the same port."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.token = f"browser-token-{self.port}"
        self.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def start(self):
        from mercer.explorer.server import make_app

        config = uvicorn.Config(
            make_app(self.token, cookie=f"mercer-explorer-{self.port}"),
            port=self.port,
            log_level="error",
            timeout_graceful_shutdown=1,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + TIMEOUT
        while not self.server.started:
            assert time.monotonic() < deadline, "the explorer did not start"
            time.sleep(0.02)

    def stop(self):
        self.server.should_exit = True
        self.thread.join(10)


@pytest.fixture(scope="module")
def service():
    one = Server()
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
    """Open a page in a new context; errors in its console fail unless they are allowed."""
    options.setdefault("viewport", {"width": 1440, "height": 900})
    context = browser.new_context(accept_downloads=True, **options)
    page = context.new_page()
    errors, requested = [], []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    page.goto(address)
    settle(page)
    yield page
    context.close()
    assert not [text for text in errors if not any(one in text for one in allowed)]
    foreign = [
        url
        for url in requested
        if not url.startswith((address.partition("?")[0], "data:", "blob:"))
    ]
    assert not foreign, "the page must not request other hosts"


def settle(page):
    """Wait until the views show the state in the address."""
    page.wait_for_selector("#grid[data-settled^='?']", timeout=1000 * TIMEOUT)


def shown(page):
    """Return the selected components as shown in the header."""
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


# --- interactions ----------------------------------------------------------------------------


def test_slide_click_brush_and_reload(service, browser):
    with opened(browser, service.address) as page:
        assert shown(page) == "1, 2, 9"
        # move the slider by keyboard
        page.focus("#sigma")
        before = page.input_value("#sigma-number")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        settle(page)
        assert float(page.input_value("#sigma-number")) > float(before)
        assert "bandwidth=" in page.url
        # a mark sets its bandwidth
        page.click("#marks button:has-text('Silverman')")
        settle(page)
        assert page.input_value("#sigma-number") == "3.703"
        # a click on the ninth bar removes the component, its chip adds it again
        bars = page.locator("#plot-spectrum .bars .point")
        bars.nth(8).click(force=True)
        page.wait_for_url("**picks=1*2*")
        settle(page)
        assert shown(page) == "1, 2"
        assert page.locator("#title-eca").inner_text() == "Picked components"
        page.click("#below-spectrum button[aria-label='Component 9']")
        settle(page)
        assert shown(page) == "1, 2, 9"
        page.click("#unpick")
        settle(page)
        assert "picks" not in page.url
        # brushing in one view selects rows in all views and lists them
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
        # the address restores the state
        page.fill("#components", "4")
        page.select_option("#color", "cluster")
        page.press("#components", "Tab")
        settle(page)
        components, address = shown(page), page.url
        page.reload()
        settle(page)
        assert (shown(page), page.url) == (components, address)
        assert page.input_value("#components") == "4"
        assert page.input_value("#color") == "cluster"


def test_rotation_in_three_dimensions(service, browser):
    with opened(browser, service.address) as page:
        first = page.locator("#plot-eca .point").first
        page.focus("#plot-eca")
        before = first.get_attribute("transform")
        page.keyboard.press("ArrowLeft")
        page.wait_for_url("**rotation=35*")
        assert first.get_attribute("transform") != before
        box = page.locator("#plot-eca").bounding_box()
        page.mouse.move(box["x"] + 100, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 140, box["y"] + 100, steps=4)
        page.mouse.up()
        page.wait_for_url("**rotation=15*")
        page.select_option("#dimensions", "2")
        page.wait_for_selector("#plot-eca .xtitle")
        assert page.locator("#plot-eca .xtitle").text_content() == "component 1"


def test_three_dimensional_views_show_all_points(service, browser):
    inside = """id => {
        const plot = document.getElementById(id);
        const {xaxis, yaxis} = plot.layout;
        const isIn = (values, [low, high]) => values.every(v => low < v && v < high);
        return plot.data.map(t => isIn(t.x, xaxis.range) && isIn(t.y, yaxis.range));
    }"""
    with opened(browser, f"{service.address}&data=wine") as page:
        page.locator("#plot-pca").scroll_into_view_if_needed()
        page.wait_for_selector("#plot-pca .point")
        assert page.evaluate(inside, "plot-eca") == [True] * 3
        assert page.evaluate(inside, "plot-pca") == [True] * 3


def test_controls_and_tables(service, browser):
    with opened(browser, service.address) as page:
        for table in ("wine", "machines", "iris"):
            page.select_option("#data", table)
            settle(page)
            assert page.locator("#facts dd").first.inner_text() == table
        page.select_option("#kernel", "polynomial")
        settle(page)
        assert page.locator("#degree").is_visible()
        assert page.locator("#bandwidth").is_hidden()
        page.select_option("#kernel", "gaussian")
        page.check("input[name=order][value=variance]")
        settle(page)
        assert shown(page) == "1, 2, 3"
        page.click("#columns-box summary")
        page.locator("#columns select").first.select_option("ignore")
        settle(page)
        assert "3 columns" in page.inner_text("#table-facts")
        # cards are drawn when they become visible
        page.select_option("#data", "rings")
        page.locator("#card-eigenfunctions").scroll_into_view_if_needed()
        page.wait_for_selector("#plot-eigenfunctions .contourlayer .contour")
        page.locator("#card-density").scroll_into_view_if_needed()
        page.wait_for_selector("#plot-density .contourlayer .contour")
        page.wait_for_selector("#plot-gram .heatmaplayer image")


# --- token -----------------------------------------------------------------------------------


def test_token_leaves_the_address_and_is_not_a_cookie(service, browser):
    with opened(browser, service.address + "&data=wine") as page:
        plain = f"http://127.0.0.1:{service.port}/?data=wine"
        assert page.url == plain
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("#copy-link")
        page.wait_for_selector("#copy-link:has-text('Copied')")
        assert page.evaluate("navigator.clipboard.readText()") == plain
        for selector in ("#get-scores", "#get-model"):
            path, _ = download(page, selector)
            assert service.token.encode() not in path.read_bytes()
        cookies = page.context.cookies()
        assert [cookie["name"] for cookie in cookies] == [f"mercer-explorer-{service.port}"]
        assert service.token not in str(cookies)
        # the address works in this browser, also in a new tab, and nowhere else
        page.reload()
        settle(page)
        second = page.context.new_page()
        second.goto(plain + "&bandwidth=3")
        settle(second)
    context = browser.new_context()
    assert context.new_page().goto(plain).status == 401
    context.close()


def test_page_of_the_redirection_opens_the_explorer(service, browser, tmp_path):
    """The navigation comes from another site (a file), and the page can be reloaded."""
    from mercer.explorer import _write_redirection

    redirection = _write_redirection(service.address + "&data=wine", tmp_path)
    context = browser.new_context()
    page = context.new_page()
    page.goto(redirection.as_uri())
    page.wait_for_url(f"http://127.0.0.1:{service.port}/?data=wine")
    settle(page)
    assert page.reload().status == 200
    settle(page)
    assert page.locator("#facts dd").first.inner_text() == "wine"
    context.close()


def test_two_explorers_in_one_browser(service, browser):
    other = Server()
    try:
        with opened(browser, service.address + "&data=wine") as page:
            second = page.context.new_page()
            second.goto(other.address + "&data=iris")
            settle(second)
            for one, name in ((page, "wine"), (second, "iris"), (page, "wine")):
                one.reload()
                settle(one)
                assert one.locator("#facts dd").first.inner_text() == name
            assert len(page.context.cookies()) == 2
    finally:
        other.stop()


# --- uploads ---------------------------------------------------------------------------------


def test_valid_and_invalid_uploads(service, browser):
    statuses = ("422", "404")
    with opened(browser, service.address, allowed=statuses) as page:
        before = shown(page)
        bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n3,4,5,6\n"}
        page.set_input_files("#file", bad)
        page.wait_for_selector("#error:not([hidden])")
        assert "bad.csv" in page.inner_text("#error-text")
        assert shown(page) == before  # the view is unchanged
        good = {"name": "people.csv", "mimeType": "text/csv", "buffer": GOOD.encode()}
        page.set_input_files("#file", good)
        page.wait_for_function("() => document.title.startsWith('people.csv')")
        settle(page)
        assert page.locator("#error").is_hidden()
        page.click("#columns-box summary")
        page.locator("#columns label", has_text="kind").locator("select").select_option("label")
        settle(page)
        page.wait_for_selector("#plot-data .legendtext")
        assert page.locator("#plot-data .legendtext").all_text_contents() == ["a", "b"]
        page.reload()
        settle(page)
        assert page.locator("#facts dd").first.inner_text() == "people.csv"
        # an address of another run names an upload that does not exist
        page.goto(f"{service.address}&data=upload-0")
        page.wait_for_selector("#error:not([hidden])")
        assert "upload-0" in page.inner_text("#error-text")
        page.select_option("#data", "wine")
        settle(page)
        assert page.locator("#error").is_hidden()


def test_tabs_are_independent(service, browser):
    with opened(browser, service.address) as page:
        second = page.context.new_page()
        second.goto(service.address + "&data=wine")
        settle(second)
        page.fill("#sigma-number", "5")
        page.press("#sigma-number", "Enter")
        settle(page)
        assert second.locator("#facts dd").first.inner_text() == "wine"
        assert page.locator("#facts dd").first.inner_text() == "rings"
        assert page.locator("#facts dd").nth(2).inner_text() == "5"


def test_lost_connection_is_reported_and_restored(browser):
    service = Server()
    try:
        with opened(browser, service.address, allowed=("ERR_CONNECTION_REFUSED",)) as page:
            service.stop()
            page.fill("#sigma-number", "4")
            page.press("#sigma-number", "Enter")
            page.wait_for_selector("#connection:not([hidden])")
            service.start()
            page.click("#retry")
            page.wait_for_selector("#connection", state="hidden")
            settle(page)
            assert page.locator("#facts dd").nth(2).inner_text() == "4"
    finally:
        service.stop()


def test_errors_of_the_row_table_are_reported(service, browser):
    with opened(browser, service.address, allowed=("422",)) as page:
        page.route(
            "**/api/rows*", lambda route: route.fulfill(status=422, json={"error": "no rows"})
        )
        page.click("#below-clusters .chips button")
        page.wait_for_selector("#error:not([hidden])")
        assert page.inner_text("#error-text") == "no rows"
        page.unroute("**/api/rows*")
        page.click("#below-clusters .chips button")
        page.wait_for_selector("#rows-table tbody tr")


# --- exports ---------------------------------------------------------------------------------


def test_exports_match_the_page(service, browser, tmp_path):
    with opened(
        browser,
        service.address + "&data=wine&bandwidth=3",
        viewport={"width": 1440, "height": 1700},
    ) as page:
        page.wait_for_selector("#plot-path .scatterlayer .point")
        for card in ("data", "spectrum", "path", "eca", "gram"):  # Chromium limits downloads
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
        # the exported code reproduces the CSV file and the page
        output = "\nimport json; print(json.dumps([labels.tolist(), scores[0].tolist(), fraction]))"
        done = subprocess.run(
            [sys.executable, "-c", code + output],
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
        )
        found, first, fraction = json.loads(done.stdout.splitlines()[-1])
        assert found == labels
        np.testing.assert_allclose(first, [float(c) for c in lines[1].split(",")[3:]], atol=1e-9)
        assert page.locator("#facts dd").nth(4).inner_text() == f"{100 * fraction:.1f} %"


# --- slider ----------------------------------------------------------------------------------


def test_many_fast_steps_of_the_slider_settle(service, browser):
    with opened(browser, service.address) as page:
        settle(page)
        page.focus("#sigma")
        before = page.input_value("#sigma")
        for _ in range(20):
            page.keyboard.press("ArrowLeft")
        settle(page)
        assert float(page.input_value("#sigma")) == pytest.approx(float(before) - 20)


# --- accessibility ---------------------------------------------------------------------------


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed; it fetches axe-core")
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
def test_axe_finds_no_serious_violations(service, browser, axe, theme):
    options = {"color_scheme": theme, "bypass_csp": True}
    with opened(browser, service.address + "&data=wine&picks=1,3", **options) as page:
        page.wait_for_selector("#plot-path .scatterlayer .point")
        page.click("#below-clusters .chips button")
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


def test_plots_have_descriptions(service, browser):
    with opened(browser, service.address) as page:
        page.wait_for_selector("#plot-path .scatterlayer .point")
        for plot in page.locator(".plot").all():
            label = plot.get_attribute("aria-label")
            assert len(label) > 20, label
        page.locator("#below-spectrum details summary").click()
        cells = page.locator("#below-spectrum tbody tr").nth(8).locator("td").all_inner_texts()
        assert cells[0] == "9"
        assert cells[-1] == "yes"
        assert "99.8 %" in page.locator("#status").text_content()


@pytest.mark.parametrize("width", [800, 400])
def test_page_fits_small_screens(service, browser, width):
    with opened(browser, service.address, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
