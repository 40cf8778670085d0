import assert from "node:assert/strict";
import { test } from "node:test";

import { number, percent, plural, rankList } from "../../src/mercer/explorer/static/format.js";

test("numbers have three significant digits", () => {
  assert.equal(number(3.14159), "3.14");
  assert.equal(number(3.14159, 5), "3.1416");
  assert.equal(number(0), "0");
  assert.equal(number(99999), "100000");
  assert.equal(number(123456), "1.23e+5");
  assert.equal(number(0.000123), "1.23e-4");
  assert.equal(number(-0.5), "-0.5");
});

test("missing numbers are dashes", () => {
  for (const value of [null, undefined, NaN]) {
    assert.equal(number(value), "–");
    assert.equal(percent(value), "–");
  }
});

test("only a fraction of one is 100 %", () => {
  assert.equal(percent(1), "100.0 %");
  assert.equal(percent(0.99999), "> 99.9 %");
  assert.equal(percent(0.5), "50.0 %");
  assert.equal(percent(0.0123), "1.23 %");
  assert.equal(percent(0), "0.00 %");
});

test("counts have their noun", () => {
  assert.equal(plural(1, "row"), "1 row");
  assert.equal(plural(0, "row"), "0 rows");
  assert.equal(plural(2000, "row"), "2,000 rows");
});

test("unknown ranks are question marks", () => {
  assert.equal(rankList([1, null, 9]), "1, ?, 9");
});
