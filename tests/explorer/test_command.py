"""``mercer explore`` from start to end, and how it fails."""

import os
import re
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("uvicorn", reason="the explorer needs mercer[web]")
pytest.importorskip("cyclopts", reason="the command line needs mercer[cli]")

import httpx

import mercer
from mercer.cli import main
from mercer.explorer import explore


def environment(temporary):
    source = str(Path(mercer.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "TMPDIR": str(temporary)}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
def test_it_serves_a_file_until_it_is_interrupted_and_leaves_nothing(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    rows = "\n".join(f"{i},{i * i % 7},{'ab'[i % 2]}" for i in range(20))
    (tmp_path / "my table.csv").write_text(f"x,y,kind\n{rows}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "mercer.cli", "explore", "my table.csv", "--no-browser"],
        cwd=tmp_path,
        env=environment(temporary),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/\?data=given", line).group()
        base = address.partition("?")[0]
        client = httpx.Client(base_url=base, timeout=60)
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
    ("arguments", "code", "says"),
    [
        (["absent.csv"], 1, "no file absent.csv"),
        (["wine", "--port", "70000"], 2, "65535"),
        (["wine", "--host", "203.0.113.1", "--no-browser"], 1, "Cannot listen on 203.0.113.1"),
    ],
)
def test_it_fails_in_words(arguments, code, says, capsys):
    assert main(["explore", *arguments]) == code
    assert says in " ".join(capsys.readouterr().err.split())


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, seconds, function, arguments):
        self.start = partial(function, *arguments)


@pytest.fixture
def started(monkeypatch):
    """Start without serving: what is told, and what the browser is shown."""

    def start(*arguments, open_browser=True, **options):
        shown, told = [], []
        monkeypatch.setattr("threading.Timer", AtOnce)
        monkeypatch.setattr("webbrowser.open", shown.append)
        monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: None)
        explore(*arguments, open_browser=open_browser, tell=told.append, **options)
        address = re.search(r"http://\S+", told[0]).group()
        assert shown == ([address] if open_browser else [])
        return address

    return start


def test_the_browser_is_shown_the_address(started):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", started())
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?data=wine", started("wine"))
    started(open_browser=False)


def test_the_usual_end_is_no_failure(monkeypatch, capsys):
    def interrupted(server, sockets):
        raise KeyboardInterrupt

    monkeypatch.setattr("uvicorn.Server.run", interrupted)
    assert main(["explore", "wine", "--no-browser"]) == 0
    told = capsys.readouterr()
    assert re.search(r"http://127\.0\.0\.1:\d+/\?data=wine \(stop it with Ctrl\+C\)", told.out)
    assert told.err == ""


def test_elsewhere_the_address_has_a_name_and_a_token(started):
    found = re.fullmatch(
        r"http://(.+):\d+/\?data=wine&token=([\w-]{32})", started("wine", host="0.0.0.0")
    )
    assert found.group(1) == socket.gethostname()
    again = started("wine", host="0.0.0.0", open_browser=False)
    assert found.group(2) not in again


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["explore", "wine", "--no-browser"]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "The explorer needs uvicorn, which is not installed: pip install mercer[web]" in told


def test_modules_of_ours_that_are_missing_show_themselves(monkeypatch):
    monkeypatch.delitem(sys.modules, "mercer.explorer.server", raising=False)
    monkeypatch.setitem(sys.modules, "mercer.explorer.gate", None)
    with pytest.raises(ModuleNotFoundError, match=r"import of mercer\.explorer\.gate"):
        explore("wine", open_browser=False)
