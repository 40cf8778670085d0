"""The command ``mercer explore`` and the function ``explore``."""

import html
import re
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from urllib.request import url2pathname

import pytest

pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("uvicorn", reason="the explorer needs mercer[web]")
pytest.importorskip("cyclopts", reason="the command line needs mercer[cli]")

import httpx

from mercer.cli import main
from mercer.explorer import explore
from tests.expectations import names_values, raises
from tests.processes import environment

TOKEN = r"token=[\w-]{32}"


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
def test_command_serves_a_file_and_removes_its_folder(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    rows = "\n".join(f"{i},{i * i % 7},{'ab'[i % 2]}" for i in range(20))
    (tmp_path / "my table.csv").write_text(f"x,y,kind\n{rows}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "mercer.cli", "explore", "my table.csv", "--no-browser"],
        cwd=tmp_path,
        env=environment(TMPDIR=str(temporary)),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+/)\?data=given&token=([\w-]{32}) ", line)
        token = {"authorization": f"Bearer {found.group(2)}"}
        client = httpx.Client(base_url=found.group(1), timeout=60, headers=token)
        for _ in range(100):
            try:
                started = client.get("api/start").json()
                break
            except httpx.ConnectError:
                pass
        assert started["given"] == "my table.csv"
        views = client.get("api/views?data=given&components=2&show=points").json()
        assert views["summary"]["rows"] == 20
        assert "read_table('my table.csv')" in client.get("api/code.py?data=given").text
        client.post("api/upload?name=a.csv", content=f"x,y\n{rows}")
        assert list(temporary.iterdir())
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(30)
    assert code == 0
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    ("arguments", "code", "value"),
    [
        (["absent.csv"], 1, "absent.csv"),
        (["wine", "--port", "70000"], 2, "65535"),
        (["wine", "--host", "203.0.113.1", "--no-browser"], 1, "203.0.113.1"),
    ],
)
def test_invalid_arguments_fail_with_an_exit_code(arguments, code, value, capsys):
    assert main(["explore", *arguments]) == code
    assert value in capsys.readouterr().err


class ImmediateTimer:
    """A timer that calls its function at once."""

    def __init__(self, seconds, function, arguments):
        self.start = partial(function, *arguments)


@pytest.fixture
def started(monkeypatch):
    """Start without serving, and return the address that is printed and opened."""

    def start(*arguments, open_browser=True, **options):
        pages, logged = [], []

        def open_page(address):
            assert "token" not in address  # other users can read the arguments of the browser
            path = Path(url2pathname(urlsplit(address).path))
            assert sys.platform == "win32" or path.parent.stat().st_mode & 0o077 == 0
            found = re.search('url=([^"]*)"', path.read_text(encoding="utf-8"))
            pages.append(html.unescape(found.group(1)))

        monkeypatch.setattr("threading.Timer", ImmediateTimer)
        monkeypatch.setattr("webbrowser.open", open_page)
        monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: None)
        explore(*arguments, open_browser=open_browser, log=logged.append, **options)
        address = re.search(r"http://\S+", logged[0]).group()
        assert pages == ([address] if open_browser else [])
        return address

    return start


def test_browser_opens_the_address(started):
    assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/\?{TOKEN}", started())
    assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/\?data=wine&{TOKEN}", started("wine"))
    assert re.fullmatch(rf"http://\[::1\]:\d+/\?{TOKEN}", started(host="::1"))
    assert started(open_browser=False) != started(open_browser=False)


def test_interrupt_exits_with_code_zero(monkeypatch, capsys):
    def interrupted(server, sockets):
        raise KeyboardInterrupt

    monkeypatch.setattr("uvicorn.Server.run", interrupted)
    monkeypatch.setenv("COLUMNS", "20")
    assert main(["explore", "wine", "--no-browser"]) == 0
    output = capsys.readouterr()
    (line,) = output.out.splitlines()  # in one line, however narrow the terminal is
    assert re.search(rf"http://127\.0\.0\.1:\d+/\?data=wine&{TOKEN} ", line)
    assert output.err == ""


def test_address_on_other_interfaces_has_a_host_name(started):
    found = re.fullmatch(rf"http://(.+):\d+/\?data=wine&{TOKEN}", started("wine", host="0.0.0.0"))
    assert found.group(1) == socket.gethostname()


def test_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["explore", "wine", "--no-browser"]) == 1
    message = " ".join(capsys.readouterr().err.split())
    assert names_values(message, "uvicorn", "pip install mercer[web]") == []


def test_missing_modules_of_mercer_raise(monkeypatch):
    monkeypatch.delitem(sys.modules, "mercer.explorer.server", raising=False)
    monkeypatch.setitem(sys.modules, "mercer.explorer.service", None)
    with raises(ModuleNotFoundError, "mercer.explorer.service"):
        explore("wine", open_browser=False)


def test_label_and_ignored_columns_are_part_of_the_address(started, tmp_path):
    path = tmp_path / "latin.csv"
    rows = "\n".join(f"{i},{i * i % 7},{'üé'[i % 2]},{i % 3}" for i in range(20))
    path.write_bytes(f"x,y,größe,z\n{rows}\n".encode("latin-1"))
    address = started(path, label="größe", ignore=["z", "y"], encoding="latin-1")
    query = parse_qsl(urlsplit(address).query)[:-1]
    assert query == [("data", "given"), ("label", "größe"), ("ignore", "z"), ("ignore", "y")]
    with raises(ValueError, "absent"):
        explore(path, label="absent", encoding="latin-1", open_browser=False)
    with raises(ValueError, "latin.csv"):  # not UTF-8
        explore(path, open_browser=False)
    query = parse_qsl(urlsplit(started("machines", categorical=["power"], missing="drop")).query)[
        :-1
    ]
    assert query == [("data", "machines"), ("categorical", "power"), ("missing", "drop")]
    with raises(ValueError, "absent"):
        explore("wine", ignore=["absent"], open_browser=False)
