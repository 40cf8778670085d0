import assert from "node:assert/strict";
import { test } from "node:test";

import { normalizeRotation, project, sizesOf } from "../../src/mercer/explorer/static/rotate3d.js";

test("without rotation the first axis points to the viewer", () => {
  const { across, upward, depth } = project([[1], [2], [3]], [0, 0]);
  assert.deepEqual([across, upward, depth], [[2], [3], [1]]);
});

test("a rotation keeps lengths", () => {
  const { across, upward, depth } = project([[1], [2], [3]], [33, -20]);
  assert.ok(Math.abs(Math.hypot(across[0], upward[0], depth[0]) - Math.sqrt(14)) < 1e-12);
});

test("D13: points with a missing coordinate are not drawn at the origin", () => {
  const { across, upward, depth } = project(
    [
      [1, null],
      [2, 2],
      [3, 3],
    ],
    [30, 20],
  );
  assert.deepEqual([across[1], upward[1], depth[1]], [null, null, null]);
  assert.ok(sizesOf(depth).every(Number.isFinite));
});

test("nearer points are larger", () => {
  assert.deepEqual(sizesOf([0, 1, 2]), [5, 7, 9]);
  assert.deepEqual(sizesOf([1, 1]), [5, 5]);
});

test("angles are whole degrees within their limits", () => {
  assert.deepEqual(normalizeRotation(190.4, 100), [-170, 90]);
  assert.deepEqual(normalizeRotation(-200, -100), [160, -90]);
  assert.deepEqual(normalizeRotation(-900, 0), [-180, 0]);
});
