"""Uploads, invalid requests, the work queue and the cache."""

import asyncio

import numpy as np
import pytest
from sklearn.cluster import KMeans

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")

from mercer.explorer.cache import Cache
from mercer.explorer.server import make_app
from mercer.explorer.service import Service
from mercer.explorer.sessions import Limits, Sessions
from mercer.explorer.work_queue import QueueFullError, SupersededError, WorkQueue
from mercer.kernels import Gaussian
from mercer.tables import text_files
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


def test_upload_is_visible_to_its_session_only(two_clients):
    first, second = two_clients
    key = first.post("/api/upload?name=mine.csv", content=GOOD).json()["data"]
    query = f"/api/views?data={key}&components=2&show=points"
    assert first.get(query).json()["summary"]["name"] == "mine.csv"
    rejected = second.get(query)
    assert rejected.status_code == 404
    assert key in rejected.json()["error"]
    for path in (
        f"/api/code.py?data={key}",
        f"/api/scores.csv?data={key}",
        f"/api/model?data={key}",
    ):
        assert second.get(path).status_code == 404
    assert second.post(f"/api/rows?data={key}", json={"rows": [0]}).status_code == 404
    assert second.get("/api/start").json()["uploads"] == []
    assert first.get("/api/start").json()["uploads"] == [[key, "mine.csv"]]


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


def test_size_of_all_uploads_is_limited():
    limits = Limits(all_uploads=2 * len(GOOD))
    with connect(limits=limits) as client:
        for status in (200, 200, 507):
            client.cookies.clear()  # another session
            answer = client.post("/api/upload", content=GOOD)
            assert answer.status_code == status
        assert "MB" in answer.json()["error"]


def test_number_of_concurrent_uploads_is_limited():
    limits = Limits(concurrent_uploads=0)
    with connect(limits=limits) as client:
        assert client.post("/api/upload", content=GOOD).status_code == 503
    limits = Limits(concurrent_uploads=1)
    with connect(limits=limits) as client:
        for content, status in ((b"", 422), (GOOD, 200), (GOOD, 200)):
            assert client.post("/api/upload", content=content).status_code == status


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


def test_uploads_are_stored_in_a_temporary_folder(tmp_path):
    app = make_app(TOKEN, limits=Limits(uploads=2))
    folder = app.state.sessions.folder
    with connect(app) as client:
        for _ in range(3):
            client.post("/api/upload?name=../../evil", content=GOOD)
        assert len(list(folder.iterdir())) == 2  # the oldest was removed
        key = client.get("/api/start").json()["uploads"][0][0]
        assert client.get(f"/api/model?data={key}&components=2").status_code == 200
        assert len(list(folder.iterdir())) == 2
    assert not folder.exists()


def store(sessions, session):
    return sessions.store(session, "a.csv", sessions.write(GOOD))


def test_idle_sessions_are_removed():
    sessions = Sessions(Limits(idle=-1.0))
    first = sessions.find(None)
    upload = store(sessions, first)
    assert sessions.find(first.key) is not first
    assert not upload.path.exists()
    sessions.close()


def test_number_of_sessions_is_limited():
    sessions = Sessions(Limits(sessions=3))
    keys = [sessions.find(None).key for _ in range(5)]
    assert sessions.find(keys[-1]).key == keys[-1]
    assert sessions.find(keys[0]).key != keys[0]
    sessions.close()


def test_existing_sessions_are_found_at_the_limit():
    sessions = Sessions(Limits(sessions=3))
    keys = [sessions.find(None).key for _ in range(3)]
    assert [sessions.find(key).key for key in keys] == keys
    sessions.close()


def test_session_removed_during_an_upload_is_restored():
    sessions = Sessions(Limits(sessions=1, all_uploads=2 * len(GOOD)))
    first = sessions.find(None)
    sessions.find(None)
    upload = store(sessions, first)
    assert sessions.find(first.key) is first
    assert list(sessions.folder.iterdir()) == [upload.path]
    sessions.find(None)  # removes the session and its file
    assert not list(sessions.folder.iterdir())
    sessions.close()


def test_sessions_with_uploads_are_removed_last():
    sessions = Sessions(Limits(sessions=3))
    first = sessions.find(None)
    store(sessions, first)
    for _ in range(10):
        sessions.find(None)
    assert sessions.find(first.key) is first
    sessions.close()


def test_full_disk_leaves_no_partial_upload(monkeypatch):
    from pathlib import Path

    def write_half(path, content):
        with path.open("wb") as file:
            file.write(content[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with connect() as client:
        answer = client.post("/api/upload", content=GOOD)
        assert answer.status_code == 507
        assert "No space left on device" in answer.json()["error"]
        assert not list(client.app.state.sessions.folder.iterdir())


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
    ("error", "status", "value"),
    [
        (asyncio.CancelledError(), 503, ""),
        (SupersededError(), 409, ""),
        (QueueFullError(), 503, ""),
        (MemoryError("1 TB"), 413, "1 TB"),
        (ZeroDivisionError("secret"), 500, "ZeroDivisionError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_exceptions_become_http_errors(monkeypatch, error, status, value):
    async def fail(*_):
        raise error

    monkeypatch.setattr(WorkQueue, "run", fail)
    with connect() as client:
        client._transport.raise_server_exceptions = False
        answer = client.get("/api/views?show=points")
    assert answer.status_code == status
    assert value in answer.json()["error"]
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("fail", "status", "message"),
    [
        (lambda: np.zeros(2) + np.zeros(3), 500, "Internal error (ValueError)"),  # in C
        (lambda: np.linalg.cholesky([1.0]), 500, "Internal error (LinAlgError)"),
        (lambda: len(3), 500, "Internal error (TypeError)"),
        (lambda: Gaussian(-1.0)(np.zeros((2, 1))), 422, "-1.0"),
        (lambda: KMeans(0).fit([[0.0]]), 422, "n_clusters"),
        (lambda: text_files._check_row_lengths("t", "a,b\n1,2,3\n", ",", 2), 422, "line 2"),
    ],
)
def test_only_errors_about_the_input_are_shown(monkeypatch, fail, status, message):
    monkeypatch.setattr(Service, "views", lambda *_: fail())
    with connect() as client:
        client._transport.raise_server_exceptions = False
        answer = client.get("/api/views?show=points")
    assert answer.status_code == status
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/start", {"x": "x" * 70_000}, 431),
        ("/api/start", {f"x{i}": "y" for i in range(2000)}, 431),
        ("/api/start", {"content-length": "5", "transfer-encoding": "chunked"}, 400),
        ("/static/%00", {}, 400),
    ],
    ids=["large header", "many headers", "length and chunks", "null byte"],
)
def test_invalid_headers_are_rejected(client, path, headers, status):
    assert client.get(path, headers=headers).status_code == status


@pytest.mark.parametrize("length", ["1000001", "9" * 30, "9" * 5000])
def test_declared_length_is_checked_before_the_body_is_read(client, length):
    headers = {"content-length": length}
    assert client.post("/api/rows", content=b"{}", headers=headers).status_code == 413


def test_body_that_does_not_arrive_in_time_is_rejected():
    """There is one deadline for the whole body, even if parts keep arriving."""

    async def play():
        app, messages = make_app(TOKEN, limits=Limits(body_timeout=0.2)), []

        async def receive():
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b"1,2\n", "more_body": True}

        async def send(message):
            messages.append(message)

        async with asyncio.timeout(30):
            await app(UPLOAD, receive, send)
        app.state.sessions.close()
        return messages

    start, body = asyncio.run(play())
    assert start["status"] == 408
    assert b"0.2 s" in body["body"]


# --- the queue and the cache -----------------------------------------------------------------


def test_newer_request_of_a_tab_replaces_the_waiting_one():
    import threading

    async def play():
        queue, go, done = WorkQueue(workers=1), threading.Event(), []

        def work(name):
            done.append(name)
            return name

        blocker = asyncio.create_task(queue.run("other", go.wait))
        await asyncio.sleep(0)
        tasks = []
        for tab, name in [("a", "a1"), ("b", "b1"), ("a", "a2"), ("a", "a3")]:
            tasks.append(asyncio.create_task(queue.run(tab, lambda name=name: work(name))))
            await asyncio.sleep(0)
        go.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await blocker
        queue.close()
        return results, done

    results, done = asyncio.run(play())
    assert done == ["a3", "b1"]  # the tab keeps its position in the queue
    assert isinstance(results[0], SupersededError)
    assert isinstance(results[2], SupersededError)
    assert (results[1], results[3]) == ("b1", "a3")


def test_full_queue_raises():
    import threading

    async def play():
        queue, go = WorkQueue(workers=1, max_waiting=1), threading.Event()
        first = asyncio.create_task(queue.run("a", go.wait))
        await asyncio.sleep(0)
        second = asyncio.create_task(queue.run("b", lambda: 2))
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError):
            await queue.run("c", lambda: 3)
        go.set()
        await first
        assert await second == 2
        queue.close()

    asyncio.run(play())


def test_cancelled_work_is_not_started():
    import threading

    async def play():
        queue, go, done = WorkQueue(workers=1), threading.Event(), []
        running = asyncio.create_task(queue.run("a", go.wait))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(queue.run("b", lambda: done.append("b")))
        staying = asyncio.create_task(queue.run("c", lambda: "c"))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        go.set()
        for thread in threading.enumerate():
            if thread.name == "mercer-explorer":
                thread.join(60)  # its result arrives before the cancellation
        waiting.cancel()
        assert await staying == "c"  # the worker is free again
        queue.close()
        return done, await asyncio.gather(running, waiting, return_exceptions=True)

    done, ends = asyncio.run(play())
    assert done == []
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2


def test_cancelled_request_leaves_the_queue():
    async def play():
        import threading

        queue, go, begun = WorkQueue(1, max_waiting=1), threading.Event(), []
        first = asyncio.create_task(queue.run("a", go.wait))
        await asyncio.sleep(0)
        gone = asyncio.create_task(queue.run("b", lambda: begun.append("b")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        third = asyncio.create_task(queue.run("c", lambda: begun.append("c")))
        go.set()
        await asyncio.gather(first, third)
        assert begun == ["c"]

    asyncio.run(play())


def test_running_work_does_not_delay_the_exit(monkeypatch):
    """Neither the event loop nor the interpreter waits for it: the threads are daemons."""
    import threading

    go, raised = threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", raised.append)

    async def play():
        queue = WorkQueue(1)
        task = asyncio.create_task(queue.run("a", go.wait))
        await asyncio.sleep(0)
        queue.close()
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
