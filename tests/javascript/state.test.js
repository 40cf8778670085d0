import assert from "node:assert/strict";
import { test } from "node:test";

import {
  DEFAULTS,
  onChange,
  parseQuery,
  set,
  state,
  toQuery,
} from "../../src/mercer/explorer/static/state.js";

test("an empty query is the default state", () => {
  assert.deepEqual(parseQuery(""), DEFAULTS);
  assert.equal(toQuery(DEFAULTS), "");
});

test("a query is restored from its state", () => {
  const queries = [
    "data=wine&bandwidth=2.5",
    "label=&ignore=a+b&ignore=%C3%BC&categorical=hue",
    "components=4&clusters=2&method=spectral&order=variance&picks=1%2C3%2C9",
    "center=0&terms=all&x=alcohol&y=hue&dimensions=2&rotation=-30%2C5&color=cluster",
  ];
  for (const query of queries) assert.equal(toQuery(parseQuery(`?${query}`)), query);
});

test("lists and picks are parsed", () => {
  const found = parseQuery("?ignore=a&ignore=b&picks=1,3&something=else");
  assert.deepEqual(found.ignore, ["a", "b"]);
  assert.deepEqual(found.picks, [1, 3]);
  assert.equal("something" in found, false);
});

test("a query of some parameters leaves out the others", () => {
  const found = parseQuery("?data=wine&bandwidth=2&color=cluster");
  assert.equal(toQuery(found, ["data", "color", "x"]), "data=wine&color=cluster");
});

test("a change updates the address and calls the listeners", () => {
  const addresses = [];
  globalThis.location = { pathname: "/" };
  globalThis.history = { replaceState: (_state, _title, address) => addresses.push(address) };
  const changes = [];
  onChange((change) => changes.push(change));
  set({ bandwidth: "3" });
  set({ bandwidth: null });
  assert.deepEqual(addresses, ["?bandwidth=3", "/"]);
  assert.deepEqual(changes, [{ bandwidth: "3" }, { bandwidth: null }]);
  assert.equal(state.bandwidth, null);
});
