import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import {
  call,
  json,
  onConnectionLost,
  RequestError,
} from "../../src/mercer/explorer/static/api.js";

const respond = (status, body = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
let requests = [];
let waits = [];

/** Answer requests by these responses in turn; an Error is thrown. The last one is repeated. */
function answer(...responses) {
  mock.method(globalThis, "fetch", async (path, options) => {
    requests.push({ path, ...options });
    const next = responses.length > 1 ? responses.shift() : responses[0];
    if (next instanceof Error) throw next;
    return next.clone();
  });
}

beforeEach(() => {
  requests = [];
  waits = [];
  mock.method(globalThis, "setTimeout", (done, delay) => {
    waits.push(delay);
    queueMicrotask(done);
  });
});

afterEach(() => {
  mock.restoreAll();
  onConnectionLost(() => {});
});

test("an answer is parsed, and requests have the token", async () => {
  answer(respond(200, { a: 1 }));
  assert.deepEqual(await json("/api/start"), { a: 1 });
  assert.match(requests[0].headers.Authorization, /^Bearer /);
});

test("an error of the server is thrown with its status and message", async () => {
  answer(respond(422, { error: "no such column" }));
  await assert.rejects(call("/api/views"), (error) => {
    assert.ok(error instanceof RequestError);
    assert.equal(error.status, 422);
    assert.equal(error.message, "no such column");
    return true;
  });
});

test("an error without JSON names the status", async () => {
  answer(new Response("<html>", { status: 502 }));
  await assert.rejects(call("/api/views"), /502/);
});

test("an upload is not repeated", async () => {
  answer(new TypeError("network"));
  const options = { method: "POST", body: new Blob(["a,b\n1,2\n"]) };
  await assert.rejects(call("/api/upload", options), { status: 0 });
  assert.equal(requests.length, 1);
});

test("a lost connection is waited for, with growing delays", async () => {
  const calls = [];
  onConnectionLost((seconds) => {
    calls.push(seconds);
  });
  const lost = new TypeError("network");
  answer(lost, lost, lost, lost, lost, lost, respond(200));
  assert.equal((await call("/api/views")).status, 200);
  assert.deepEqual(calls, [1, 2, 4, 8, 15, 15, 0]);
});
