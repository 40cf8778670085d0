import assert from "node:assert/strict";
import { test } from "node:test";

import {
  STEPS,
  toBandwidth,
  toPercent,
  toStep,
} from "../../src/mercer/explorer/static/slider_scale.js";

const limits = { low: 0.1, high: 10 };
const isClose = (found, expected) =>
  assert.ok(Math.abs(found - expected) < 1e-9 * Math.abs(expected));

test("the ends of the slider are the limits", () => {
  isClose(toBandwidth(0, limits), 0.1);
  isClose(toBandwidth(STEPS, limits), 10);
});

test("the middle is the geometric mean", () => {
  isClose(toBandwidth(STEPS / 2, limits), 1);
  isClose(toPercent(1, limits), 50);
});

test("step and bandwidth are inverse to each other", () => {
  for (const step of [1, 123, 999]) isClose(toStep(toBandwidth(step, limits), limits), step);
});

test("bandwidths outside of the limits are outside of the slider", () => {
  assert.ok(toStep(0.01, limits) < 0);
  assert.ok(toPercent(100, limits) > 100);
});
