import assert from "node:assert/strict";
import { test } from "node:test";

import {
  escapeFormula,
  fileName,
  number,
  percent,
  plural,
  rankList,
  toCsv,
} from "../../src/mercer/explorer/static/format.js";

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

test("cells are separated by commas and lines end", () => {
  assert.equal(toCsv(["row", "x"], [[0, 1.5]]), "row,x\n0,1.5\n");
  assert.equal(toCsv(["row"], []), "row\n");
});

test("cells with separators, quotes or line breaks are quoted", () => {
  const found = toCsv(["a,b"], [['say "hi"'], ["two\nlines"], ["carriage\rreturn"], ["plain"]]);
  assert.equal(found, '"a,b"\n"say ""hi"""\n"two\nlines"\n"carriage\rreturn"\nplain\n');
});

test("missing cells are empty, false and 0 are not", () => {
  assert.equal(toCsv(["a", "b", "c", "d"], [[null, undefined, false, 0]]), "a,b,c,d\n,,false,0\n");
});

test("texts that a spreadsheet would evaluate get an apostrophe, numbers do not", () => {
  const escaped = ["=1+1", "+a", "-a", "@SUM(A1)", "\tx", "\rx", "'=1", "+1 2", "-1-2"];
  for (const text of escaped) assert.equal(escapeFormula(text), `'${text}`);
  for (const cell of ["-1", "+1", "-1.5", "-1,5", "-1e-5", "-", "a=b", "", "'", -1.5, null, true])
    assert.equal(escapeFormula(cell), cell);
  assert.equal(toCsv(["=a"], [["=b"], [-1]]), "'=a\n'=b\n-1\n");
});

test("the file name is taken from the header", () => {
  assert.equal(fileName("attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.csv", "x"), "größe.csv");
  assert.equal(fileName(null, "model"), "model");
  assert.equal(fileName("attachment", "model"), "model");
});
