import assert from "node:assert/strict";
import { test } from "node:test";

import { describeTable } from "../../src/mercer/explorer/static/controls.js";

const summary = (omissions) => ({
  rows: 20,
  columns: ["x"],
  rows_omitted: 0,
  analyzed: 20,
  shown: 20,
  omissions,
  notes: ["a note"],
});

test("D7: ignored columns are recognized by their code, whatever the reason says", () => {
  const text = describeTable(
    summary([
      { column: "mine", code: "ignored", reason: "any wording" },
      { column: "flat", code: "constant", reason: "you left it out" },
    ]),
  );
  assert.match(text, /flat \(you left it out\)/);
  assert.doesNotMatch(text, /mine/);
  assert.match(text, /a note/);
});

test("a table without omissions lists none", () => {
  assert.doesNotMatch(describeTable(summary([])), /\(/);
});
