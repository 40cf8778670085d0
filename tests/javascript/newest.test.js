import assert from "node:assert/strict";
import { test } from "node:test";

import { Newest, newestLoader, RequestError } from "../../src/mercer/explorer/static/api.js";

/** A function whose calls are answered by the test: {load, calls: [{wanted, resolve, reject}]}. */
function manual() {
  const calls = [];
  const load = (wanted) =>
    new Promise((resolve, reject) => {
      calls.push({ wanted, resolve, reject });
    });
  return { load, calls };
}

const settle = () => new Promise((done) => setTimeout(done));

test("while a job runs, only the newest argument waits", async () => {
  const { load, calls } = manual();
  const newest = new Newest(load);
  newest.ask(1);
  newest.ask(2);
  newest.ask(3);
  assert.deepEqual(
    calls.map(({ wanted }) => wanted),
    [1],
  );
  calls[0].resolve();
  await settle();
  assert.deepEqual(
    calls.map(({ wanted }) => wanted),
    [1, 3],
  );
  calls[1].resolve();
  await settle();
  assert.equal(newest.isBusy, false);
  assert.equal(calls.length, 2);
});

test("what a job returns is called after the next job has started", async () => {
  const events = [];
  const newest = new Newest(async (wanted) => {
    events.push(`start ${wanted}`);
    await settle();
    return () => events.push(`draw ${wanted}`);
  });
  const first = newest.ask(1);
  newest.ask(2);
  await first;
  assert.deepEqual(events, ["start 1", "start 2", "draw 1"]);
});

test("a job that fails does not stop the next one", async () => {
  const { load, calls } = manual();
  const newest = new Newest(load);
  const first = newest.ask(1);
  newest.ask(2);
  calls[0].reject(new Error("failed"));
  await assert.rejects(first, /failed/);
  assert.equal(calls[1].wanted, 2);
  calls[1].resolve();
  await settle();
  assert.equal(newest.isBusy, false);
});

function loader() {
  const shown = [];
  const failures = [];
  const { load, calls } = manual();
  const ask = newestLoader({
    load,
    show: (found) => shown.push(found),
    fail: (message) => failures.push(message),
  });
  return { ask, calls, shown, failures };
}

test("an answer to an older request is not shown", async () => {
  const { ask, calls, shown } = loader();
  ask("old");
  ask("new");
  calls[0].resolve("old rows");
  await settle();
  calls[1].resolve("new rows");
  await settle();
  assert.deepEqual(shown, ["new rows"]);
});

test("nothing is shown after the selection was cleared", async () => {
  const { ask, calls, shown } = loader();
  ask("old");
  ask(null);
  calls[0].resolve("old rows");
  await settle();
  assert.deepEqual(shown, []);
  assert.equal(calls.length, 1);
});

test("errors of the server are reported", async () => {
  const { ask, calls, shown, failures } = loader();
  const failed = ask("a");
  calls[0].reject(new RequestError(422, "no rows"));
  await failed;
  assert.deepEqual(failures, ["no rows"]);
  assert.deepEqual(shown, []);
});

test("errors of the page itself are not hidden", async () => {
  const { ask, calls } = loader();
  const failed = ask("a");
  calls[0].reject(new TypeError("bug"));
  await assert.rejects(failed, TypeError);
});
