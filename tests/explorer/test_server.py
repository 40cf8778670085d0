"""Uploads, invalid requests, computations and the cache."""

import asyncio
import threading

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")

from mercer.errors import RankError
from mercer.explorer.models import Cache
from mercer.explorer.server import _run_in_thread, make_app
from mercer.explorer.service import Service
from mercer.explorer.uploads import Limits
from tests.expectations import names_values
from tests.explorer_client import TOKEN, connect

#: ASGI scope of an upload.
UPLOAD = {
    "type": "http",
    "method": "POST",
    "path": "/api/upload",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1"), (b"authorization", b"Bearer " + TOKEN.encode())],
}
GOOD = b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n"


# --- uploads ---------------------------------------------------------------------------------


def test_uploads_are_listed_and_analyzed(client):
    key = client.post("/api/upload?name=mine.csv", content=GOOD).json()["data"]
    assert client.get("/api/start").json()["uploads"] == [[key, "mine.csv"]]
    views = client.get(f"/api/views?data={key}&components=2&show=points").json()
    assert views["summary"]["name"] == "mine.csv"
    missing = client.get("/api/views?data=upload-0&show=points")
    assert missing.status_code == 404
    assert "upload-0" in missing.json()["error"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n",
        b"a,b\n1,2\n",
        b"\x93NUMPY\x01\x00garbage",
        b"PAR1 but not really",
        b"PK\x03\x04 but not really",
        b"\x80\x04\x95\x10cposix\nsystem\n",
        b"a,b\n1,2\n3,4,5,6\n1,2\n",
    ],
)
def test_invalid_upload_is_rejected_and_not_stored(client, content):
    answer = client.post("/api/upload?name=bad.csv", content=content)
    assert answer.status_code == 422, answer.text
    assert "bad.csv" in answer.json()["error"]
    assert client.get("/api/start").json()["uploads"] == []
    assert client.get("/api/views?show=points").status_code == 200


def test_pickled_arrays_are_rejected(client):
    import io

    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}, print, None, 1], dtype=object), allow_pickle=True)
    answer = client.post("/api/upload?name=bad.npy", content=file.getvalue())
    assert answer.status_code == 422


def test_large_uploads_are_rejected():
    with connect(limits=Limits(upload=1000)) as client:
        answer = client.post("/api/upload", content=b"x" * 1001)
        assert answer.status_code == 413
        streamed = client.post("/api/upload", content=(b"x" * 600 for _ in range(2)))
        assert streamed.status_code == 413
    with connect(limits=Limits(rows=4)) as client:
        answer = client.post("/api/upload", content=GOOD)
        assert answer.status_code == 422
        assert names_values(answer.json()["error"], "5 rows", 4) == []


def test_interrupted_upload_is_not_stored(client):
    sent = []
    half = {"type": "http.request", "body": GOOD[:20], "more_body": True}
    messages = iter([half, {"type": "http.disconnect"}])

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    asyncio.run(client.app(UPLOAD, receive, send))
    assert sent[0]["status"] == 400
    assert client.get("/api/start").json()["uploads"] == []


def test_newest_uploads_are_stored_in_a_temporary_folder(monkeypatch):
    monkeypatch.setattr("mercer.explorer.uploads._MAX_UPLOADS", 2)
    with connect() as client:
        folder = client.app.state.service.uploads.folder
        for i in range(3):
            client.post(f"/api/upload?name=../../evil{i}", content=GOOD)
        uploads = client.get("/api/start").json()["uploads"]
        assert [name for _, name in uploads] == ["evil1", "evil2"]  # the oldest was removed
        query = f"data={uploads[0][0]}&components=2"
        assert client.get(f"/api/model?{query}").status_code == 200
        assert len(list(folder.iterdir())) == 2
    assert not folder.exists()


def test_full_disk_leaves_no_partial_upload(monkeypatch):
    from pathlib import Path

    def write_half(path, content):
        with path.open("wb") as file:
            file.write(content[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with connect() as client:
        answer = client.post("/api/upload", content=GOOD)
        assert answer.status_code == 422
        assert "No space left on device" in answer.json()["error"]
        assert not list(client.app.state.service.uploads.folder.iterdir())


# --- invalid requests ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/views", 400),
        ("/api/views?show=nothing", 400),
        ("/api/views?show=points&kernel=none", 400),
        ("/api/views?show=points&data=../x", 400),
        ("/api/views?show=points&data=absent", 404),
        ("/api/views?show=points&data=given", 404),
        ("/api/views?show=points&data=wine&label=nothing", 422),
        ("/api/views?show=points&" + "x" * 60_000, 414),
        ("/nowhere", 404),
    ],
)
def test_invalid_addresses_return_an_error(client, path, status):
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"rows": ["1"]}', b'{"rows": [true]}'])
def test_invalid_bodies_return_an_error(client, body):
    assert client.post("/api/rows", content=body).status_code == 400


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (asyncio.CancelledError(), 503, "shutting down"),
        (MemoryError("1 TB"), 413, "1 TB"),
        (ValueError("bandwidth=-1 must be positive."), 422, "bandwidth=-1"),
        (RankError("one component", rank=1), 422, "one component"),
        (FileNotFoundError(2, "No such file", "my.csv"), 422, "my.csv"),
        (ModuleNotFoundError("pip install pyarrow"), 422, "pyarrow"),
        (TypeError("secret"), 500, "Internal error (TypeError)"),
        (ZeroDivisionError("secret"), 500, "Internal error (ZeroDivisionError)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_exceptions_become_http_errors(monkeypatch, error, status, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(Service, "views", fail)
    with connect() as client:
        client._transport.raise_server_exceptions = False
        answer = client.get("/api/views?show=points")
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/start", {"x": "x" * 70_000}, 431),
        ("/api/start", {"content-length": "5", "transfer-encoding": "chunked"}, 400),
        ("/static/%00", {}, 400),
    ],
    ids=["large header", "length and chunks", "null byte"],
)
def test_invalid_headers_are_rejected(client, path, headers, status):
    assert client.get(path, headers=headers).status_code == status


@pytest.mark.parametrize("length", ["1000001", "9" * 30, "9" * 5000])
def test_declared_length_is_checked_before_the_body_is_read(client, length):
    headers = {"content-length": length}
    assert client.post("/api/rows", content=b"{}", headers=headers).status_code == 413


def test_body_that_does_not_arrive_in_time_is_rejected(monkeypatch):
    """There is one deadline for the whole body, even if parts keep arriving."""

    monkeypatch.setattr("mercer.explorer.server._BODY_TIMEOUT", 0.2)

    async def play():
        app, messages = make_app(TOKEN), []

        async def receive():
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b"1,2\n", "more_body": True}

        async def send(message):
            messages.append(message)

        async with asyncio.timeout(30):
            await app(UPLOAD, receive, send)
        app.state.service.close()
        return messages

    start, body = asyncio.run(play())
    assert start["status"] == 408
    assert b"0.2 s" in body["body"]


# --- computations and the cache --------------------------------------------------------------


def test_one_computation_at_a_time_and_none_for_clients_that_left(monkeypatch):
    """The sweep does not delay the views."""
    go, started = threading.Event(), []

    def views(self, state, names):
        started.append(names[0])
        if "points" in names:
            go.wait(30)
        return {}

    async def request(app, show, body):
        messages = []

        async def receive():
            return body

        async def send(message):
            messages.append(message)

        query = f"show={show}".encode()
        scope = {**UPLOAD, "method": "GET", "path": "/api/views", "query_string": query}
        await app(scope, receive, send)
        return messages[0]["status"]

    async def play():
        app = make_app(TOKEN)
        here, gone = {"type": "http.request"}, {"type": "http.disconnect"}
        first = asyncio.create_task(request(app, "points", here))
        while not started:
            await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(request(app, "gram", body)) for body in (gone, here)]
        assert await request(app, "path", here) == 200
        assert started == ["points", "path"]
        go.set()
        statuses = [await task for task in (first, *waiting)]
        app.state.service.close()
        return statuses

    monkeypatch.setattr(Service, "views", views)
    assert asyncio.run(play()) == [200, 400, 200]
    assert started == ["points", "path", "gram"]


def test_running_work_does_not_delay_the_exit(monkeypatch):
    """Neither the event loop nor the interpreter waits for it: the threads are daemons."""
    go, raised = threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", raised.append)

    async def play():
        task = asyncio.create_task(_run_in_thread(go.wait))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(play())
    working = [t for t in threading.enumerate() if t.name == "mercer-explorer" and t.is_alive()]
    assert all(thread.daemon for thread in working)
    go.set()  # it finishes without an error although its loop is closed
    for thread in working:
        thread.join(30)
        assert not thread.is_alive()
    assert not raised


def test_cache_stays_within_its_limit():
    cache = Cache(100)
    made = []

    def make(name, size):
        def value():
            made.append(name)
            return name, size

        return cache.get(name, value)

    for name in "abcab":
        make(name, 40)
    assert made == ["a", "b", "c", "a", "b"]
    make("b", 40)
    assert make("large", 1000) == "large"
    assert len(cache) == 2  # larger values than the limit are not stored
