import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { authorization, readToken } from "../../src/mercer/explorer/static/api.js";

const values = new Map();
const storage = {
  getItem: (name) => values.get(name) ?? null,
  setItem: (name, value) => values.set(name, value),
};
let address = "";

function open(search) {
  address = search || "/";
  globalThis.location = { search, pathname: "/" };
  globalThis.history = { replaceState: (state, title, url) => (address = url) };
}

beforeEach(() => values.clear());
afterEach(() => {
  delete globalThis.location;
  delete globalThis.history;
});

test("the token of the address is stored and leaves the address", () => {
  open("?data=wine&token=abc&ignore=a&ignore=b");
  readToken(() => storage);
  assert.equal(authorization(), "Bearer abc");
  assert.equal(address, "?data=wine&ignore=a&ignore=b");
  open("?token=def");
  readToken(() => storage);
  assert.equal(address, "/");
  open("?data=iris");
  readToken(() => storage);
  assert.equal(authorization(), "Bearer def");
  assert.equal(address, "?data=iris");
});

test("a page without a token sends none", () => {
  open("");
  readToken(() => storage);
  assert.equal(authorization(), "Bearer ");
});

test("the token holds while storage is disabled", () => {
  open("?token=abc");
  readToken(() => {
    throw new Error("disabled");
  });
  assert.equal(authorization(), "Bearer abc");
  assert.equal(address, "/");
});
