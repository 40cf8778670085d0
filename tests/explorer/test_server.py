"""Who may ask for what, and what happens to those who may not."""

import asyncio

import pytest

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
from starlette.testclient import TestClient

from mercer.explorer.cache import Cache
from mercer.explorer.gate import Gate, SupersededError, TooBusyError
from mercer.explorer.server import make_app
from mercer.explorer.sessions import Limits, Sessions

GOOD = b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n"


# --- who may ask -----------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9999", "[::1]:80", "LOCALHOST"])
def test_this_machine_is_answered(client, host):
    assert client.get("/api/start", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", ""]
)
def test_a_foreign_host_is_refused(client, host):
    answer = client.get("/api/start", headers={"host": host})
    assert answer.status_code == 421
    assert "not this machine" in answer.json()["error"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1234"])
def test_a_foreign_origin_is_refused(client, origin):
    answer = client.post("/api/upload", content=GOOD, headers={"origin": origin})
    assert answer.status_code == 403
    assert (
        client.post("/api/upload", content=GOOD, headers={"origin": "http://127.0.0.1"}).status_code
        == 200
    )


def test_other_sites_may_link_to_the_page_and_no_more(client):
    foreign = {"sec-fetch-site": "cross-site"}
    assert client.get("/", headers=foreign).status_code == 200
    for path in ("/api/start", "/api/views?show=points", "/api/code.py", "/static/main.js"):
        assert client.get(path, headers=foreign).status_code == 403


def test_elsewhere_than_on_loopback_a_token_is_asked_for():
    with TestClient(make_app(token="secret"), base_url="http://server.example") as client:
        assert client.get("/").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        assert client.get("/?token=secret").status_code == 200
        assert client.get("/api/start").status_code == 200  # the cookie knows it now
    with TestClient(make_app(token="secret"), base_url="http://server.example") as client:
        client.cookies.set("mercer-explorer-token", "sekret")
        assert client.get("/").status_code == 401


def test_nothing_foreign_is_loaded_and_nothing_inline_runs(client):
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe-eval" not in policy
    assert "script-src" not in policy  # so that 'self' rules, without inline scripts
    assert "://" not in page.text.replace("http://www.w3.org", "")
    assert "<script>" not in page.text
    assert " onclick" not in page.text
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fstate.py"]
)
def test_only_static_files_are_served(client, path):
    assert client.get(path).status_code == 404


def test_cookies_are_for_this_site_only(client):
    cookie = client.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "set-cookie" not in client.get("/").headers


# --- uploads ---------------------------------------------------------------------------------


def test_an_upload_is_seen_by_its_session_only(two_clients):
    first, second = two_clients
    key = first.post("/api/upload?name=mine.csv", content=GOOD).json()["data"]
    query = f"/api/views?data={key}&components=2&show=points"
    assert first.get(query).json()["summary"]["name"] == "mine.csv"
    refused = second.get(query)
    assert refused.status_code == 404
    assert "no data set" in refused.json()["error"]
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
    ("content", "says"),
    [
        (b"", "empty"),
        (b"a,b\n", "at least 1 column"),
        (b"a,b\n1,2\n", "at least 1 column"),
        (b"\x93NUMPY\x01\x00garbage", ""),
        (b"PAR1 but not really", ""),
        (b"PK\x03\x04 but not really", "cannot be read as arrays"),
        (b"\x80\x04\x95\x10cposix\nsystem\n", ""),
        (b"a,b\n1,2\n3,4,5,6\n1,2\n", "line"),
    ],
)
def test_a_bad_upload_is_refused_in_words_and_leaves_nothing(client, content, says):
    answer = client.post("/api/upload?name=bad.csv", content=content)
    assert answer.status_code == 422, answer.text
    assert says in answer.json()["error"]
    assert client.get("/api/start").json()["uploads"] == []
    assert client.get("/api/views?show=points").status_code == 200


def test_a_pickle_in_an_array_file_is_not_loaded(client):
    import io

    import numpy as np

    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}, print, None, 1], dtype=object), allow_pickle=True)
    answer = client.post("/api/upload?name=bad.npy", content=file.getvalue())
    assert answer.status_code == 422


def test_files_that_are_too_large_are_refused():
    with TestClient(make_app(limits=Limits(upload=1000)), base_url="http://127.0.0.1") as client:
        answer = client.post("/api/upload", content=b"x" * 1001)
        assert answer.status_code == 413
        streamed = client.post("/api/upload", content=(b"x" * 600 for _ in range(2)))
        assert streamed.status_code == 413
    with TestClient(make_app(limits=Limits(rows=4)), base_url="http://127.0.0.1") as client:
        answer = client.post("/api/upload", content=GOOD)
        assert answer.status_code == 422
        assert "5 rows" in answer.json()["error"]


def test_uploads_of_all_people_together_are_limited():
    limits = Limits(all_uploads=2 * len(GOOD))
    with TestClient(make_app(limits=limits), base_url="http://127.0.0.1") as client:
        for status in (200, 200, 507):
            client.cookies.clear()  # somebody else
            answer = client.post("/api/upload", content=GOOD)
            assert answer.status_code == status
        assert "its limit is 0 MB. Try again later" in answer.json()["error"]


def test_an_upload_that_breaks_off(client):
    told = []
    half = {"type": "http.request", "body": GOOD[:20], "more_body": True}
    messages = iter([half, {"type": "http.disconnect"}])

    async def receive():
        return next(messages)

    async def send(message):
        told.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/upload",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }
    asyncio.run(client.app(scope, receive, send))
    assert told[0]["status"] == 400
    assert b"The upload broke off." in told[1]["body"]
    assert client.get("/api/start").json()["uploads"] == []


def test_a_small_file_that_would_become_large_is_not_read():
    import gzip
    import io

    import numpy as np

    archive, parquet = io.BytesIO(), io.BytesIO()
    np.savez_compressed(archive, X=np.zeros((10**6, 10)))
    assert archive.tell() < 200_000
    files = {"zeros.npz": archive.getvalue()}
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pq.write_table(pa.table({"x": np.zeros(10**7)}), parquet)
    assert parquet.tell() < 200_000
    files["zeros.parquet"] = parquet.getvalue()
    pressed = {"zeros.gz": gzip.compress(b"0,1\n" * 13_000_000, 1)}
    limits = Limits(expanded=50_000_000)
    with TestClient(make_app(limits=limits), base_url="http://127.0.0.1") as client:
        for name, content in files.items() | pressed.items():
            answer = client.post(f"/api/upload?name={name}", content=content)
            assert answer.status_code == 422
            size = "more than 50" if name in pressed else "80"
            assert f"{name} would expand to {size} MB" in answer.json()["error"]


def test_uploads_live_in_a_folder_that_goes(tmp_path):
    app = make_app(limits=Limits(uploads=2))
    folder = app.state.sessions.folder
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for _ in range(3):
            client.post("/api/upload?name=../../evil", content=GOOD)
        assert len(list(folder.iterdir())) == 2  # the oldest went
        key = client.get("/api/start").json()["uploads"][0][0]
        assert client.get(f"/api/model?data={key}&components=2").status_code == 200
        assert len(list(folder.iterdir())) == 2
    assert not folder.exists()


def test_idle_sessions_are_forgotten():
    sessions = Sessions(Limits(idle=-1.0))
    first = sessions.find(None)
    upload = sessions.keep(first, "a.csv", GOOD)
    assert sessions.find(first.key) is not first
    assert not upload.path.exists()
    sessions.close()


def test_only_so_many_sessions_are_kept():
    sessions = Sessions(Limits(sessions=3))
    keys = [sessions.find(None).key for _ in range(5)]
    assert sessions.find(keys[-1]).key == keys[-1]
    assert sessions.find(keys[0]).key != keys[0]
    sessions.close()


def test_who_comes_back_is_known_however_many_there_are():
    sessions = Sessions(Limits(sessions=3))
    keys = [sessions.find(None).key for _ in range(3)]
    assert [sessions.find(key).key for key in keys] == keys
    sessions.close()


def test_a_session_that_was_forgotten_while_its_file_arrived_is_remembered():
    sessions = Sessions(Limits(sessions=1, all_uploads=2 * len(GOOD)))
    first = sessions.find(None)
    sessions.find(None)
    upload = sessions.keep(first, "a.csv", GOOD)
    assert sessions.find(first.key) is first
    assert list(sessions.folder.iterdir()) == [upload.path]
    sessions.find(None)  # and it goes with its file
    assert not list(sessions.folder.iterdir())
    sessions.close()


def test_an_upload_for_which_the_disk_has_no_room_leaves_nothing(monkeypatch):
    from pathlib import Path

    def write_half(path, content):
        with path.open("wb") as file:
            file.write(content[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    app = make_app()
    with TestClient(app, base_url="http://127.0.0.1") as client:
        answer = client.post("/api/upload", content=GOOD)
        assert answer.status_code == 507
        assert "No space left" in answer.json()["error"]
        assert not list(app.state.sessions.folder.iterdir())


# --- bad requests ----------------------------------------------------------------------------


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
def test_bad_addresses_are_told(client, path, status):
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"rows": ["1"]}', b'{"rows": [true]}'])
def test_bad_bodies_are_told(client, body):
    assert client.post("/api/rows", content=body).status_code == 400


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (asyncio.CancelledError(), 503, "The explorer is ending."),
        (SupersededError(), 409, "A newer request took this one's place."),
        (TooBusyError(), 503, "Many people are computing; try again in a moment."),
        (MemoryError("1 TB"), 413, "Not enough memory: 1 TB"),
        (
            ZeroDivisionError("secret"),
            500,
            "A mistake of the explorer (ZeroDivisionError); its log has the details.",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_work_that_fails_is_told(monkeypatch, error, status, says):
    async def fail(*_):
        raise error

    monkeypatch.setattr(Gate, "run", fail)
    with TestClient(
        make_app(), base_url="http://127.0.0.1", raise_server_exceptions=False
    ) as client:
        answer = client.get("/api/views?show=points")
    assert (answer.status_code, answer.json()) == (status, {"error": says})


# --- the queue and the cache -----------------------------------------------------------------


def test_the_newest_request_of_a_tab_takes_the_place_of_its_older_one():
    import threading

    async def play():
        gate, go, done = Gate(workers=1), threading.Event(), []

        def work(name):
            done.append(name)
            return name

        blocker = asyncio.create_task(gate.run("other", go.wait))
        await asyncio.sleep(0)
        tasks = []
        for tab, name in [("a", "a1"), ("b", "b1"), ("a", "a2"), ("a", "a3")]:
            tasks.append(asyncio.create_task(gate.run(tab, lambda name=name: work(name))))
            await asyncio.sleep(0)
        go.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await blocker
        gate.close()
        return results, done

    results, done = asyncio.run(play())
    assert done == ["a3", "b1"]  # the tab kept its place in the queue
    assert isinstance(results[0], SupersededError)
    assert isinstance(results[2], SupersededError)
    assert (results[1], results[3]) == ("b1", "a3")


def test_a_full_queue_says_so():
    import threading

    async def play():
        gate, go = Gate(workers=1, most_waiting=1), threading.Event()
        first = asyncio.create_task(gate.run("a", go.wait))
        await asyncio.sleep(0)
        second = asyncio.create_task(gate.run("b", lambda: 2))
        await asyncio.sleep(0)
        with pytest.raises(TooBusyError):
            await gate.run("c", lambda: 3)
        go.set()
        await first
        assert await second == 2
        gate.close()

    asyncio.run(play())


def test_work_of_people_who_have_gone_is_not_begun_and_not_told():
    import threading

    async def play():
        gate, go, done = Gate(workers=1), threading.Event(), []
        running = asyncio.create_task(gate.run("a", go.wait))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(gate.run("b", lambda: done.append("b")))
        staying = asyncio.create_task(gate.run("c", lambda: "c"))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        go.set()
        for thread in threading.enumerate():
            if thread.name == "mercer-explorer":
                thread.join(60)  # the loop will hear of it before it hears of who has gone
        waiting.cancel()
        assert await staying == "c"  # the thread is free again
        gate.close()
        return done, await asyncio.gather(running, waiting, return_exceptions=True)

    done, ends = asyncio.run(play())
    assert done == []
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2


def test_who_has_gone_leaves_the_queue():
    async def play():
        import threading

        gate, go, begun = Gate(1, most_waiting=1), threading.Event(), []
        first = asyncio.create_task(gate.run("a", go.wait))
        await asyncio.sleep(0)
        gone = asyncio.create_task(gate.run("b", lambda: begun.append("b")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        third = asyncio.create_task(gate.run("c", lambda: begun.append("c")))
        go.set()
        await asyncio.gather(first, third)
        assert begun == ["c"]

    asyncio.run(play())


def test_work_that_outlives_the_explorer_is_not_waited_for(monkeypatch):
    """Neither by the loop nor by Python, whose end waits for threads that are no daemons."""
    import threading

    go, raised = threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", raised.append)

    async def play():
        gate = Gate(1)
        task = asyncio.create_task(gate.run("a", go.wait))
        await asyncio.sleep(0)
        gate.close()
        task.cancel()

    asyncio.run(play())
    working = [t for t in threading.enumerate() if t.name == "mercer-explorer" and t.is_alive()]
    assert all(thread.daemon for thread in working)
    go.set()  # and it ends without a word, though its loop has gone
    for thread in working:
        thread.join(30)
        assert not thread.is_alive()
    assert not raised


def test_the_cache_keeps_within_its_room():
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
    assert make("whole", 1000) == "whole"
    assert len(cache) == 2  # what is larger than the room is not kept
