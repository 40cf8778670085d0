import assert from "node:assert/strict";
import { test } from "node:test";

import {
  CARD_DEPENDENCIES,
  isSame,
  reuseUnchanged,
  VIEW_PARAMETERS,
} from "../../src/mercer/explorer/static/dependencies.js";
import { DEFAULTS } from "../../src/mercer/explorer/static/state.js";

const classes = () => ({ kind: "class", values: [0, 1, 1], names: ["a", "b"] });
const points = (more = {}) => ({
  rows: [4, 5, 6],
  classes: classes(),
  clusters: [0, 1, 1],
  n_clusters: 2,
  ...more,
});

function page(more = {}) {
  const names = Object.keys(VIEW_PARAMETERS);
  return {
    views: { ...Object.fromEntries(names.map((name) => [name, {}])), points: points() },
    summary: { bandwidth: 1 },
    state: { ...DEFAULTS },
    selected: new Set(),
    rotation: [30, 20],
    ...more,
  };
}

/** The cards that are drawn again when a page changes. */
function redrawn(before, after) {
  return Object.keys(CARD_DEPENDENCIES).filter(
    (id) => !isSame(CARD_DEPENDENCIES[id](before), CARD_DEPENDENCIES[id](after)),
  );
}

test("views depend on parameters of the state", () => {
  for (const names of Object.values(VIEW_PARAMETERS)) {
    for (const name of names) assert.ok(name in DEFAULTS, name);
  }
});

test("the data view does not depend on the bandwidth, the spectrum does", () => {
  assert.equal(VIEW_PARAMETERS.data.includes("bandwidth"), false);
  assert.equal(VIEW_PARAMETERS.path.includes("bandwidth"), false);
  assert.equal(VIEW_PARAMETERS.spectrum.includes("bandwidth"), true);
});

test("an unchanged page is not drawn again", () => {
  const one = page();
  assert.deepEqual(redrawn(one, { ...one }), []);
});

test("a view redraws the cards that show it", () => {
  const before = page();
  const after = { ...before, views: { ...before.views, embedding: {} } };
  assert.deepEqual(redrawn(before, after), ["eca", "pca"]);
});

test("a rotation redraws embeddings in three dimensions only", () => {
  const before = page();
  assert.deepEqual(redrawn(before, { ...before, rotation: [35, 20] }), ["eca", "pca"]);
  const flat = page({ state: { ...DEFAULTS, dimensions: "2" } });
  assert.deepEqual(redrawn(flat, { ...flat, rotation: [35, 20] }), []);
});

test("clusters redraw what is colored by clusters", () => {
  const byClass = page();
  const changed = { ...byClass.views.points, clusters: [1, 0, 0] };
  const after = (before) => ({ ...before, views: { ...before.views, points: changed } });
  assert.deepEqual(redrawn(byClass, after(byClass)), ["clusters", "gram"]);
  const byCluster = { ...byClass, state: { ...DEFAULTS, color: "cluster" } };
  assert.deepEqual(redrawn(byCluster, after(byCluster)), [
    "data",
    "eca",
    "pca",
    "clusters",
    "gram",
  ]);
});

test("a selection redraws the cards without scatter plots, and the list of rows", () => {
  const before = page();
  assert.deepEqual(redrawn(before, { ...before, selected: new Set([1]) }), [
    "gram",
    "unusual",
    "eigenfunctions",
  ]);
});

test("equal classes and clusters stay the same objects", () => {
  const old = points();
  const found = reuseUnchanged(old, points({ clusters: [1, 0, 0] }));
  assert.equal(found.rows, old.rows);
  assert.equal(found.classes, old.classes);
  assert.deepEqual(found.clusters, [1, 0, 0]);
  const withoutClasses = reuseUnchanged(old, points({ classes: null }));
  assert.equal(withoutClasses.classes, null);
  assert.equal(withoutClasses.clusters, old.clusters);
});

test("other rows are not mixed with old ones", () => {
  const fresh = points({ rows: [7, 8, 9] });
  assert.equal(reuseUnchanged(points(), fresh), fresh);
  assert.equal(reuseUnchanged(undefined, fresh), fresh);
});
