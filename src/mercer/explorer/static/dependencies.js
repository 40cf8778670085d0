// Dependencies of the views and the cards.

// The kernel is included because it determines whether the rows are subsampled.
const TABLE = ["data", "label", "ignore", "categorical", "missing", "scale", "kernel"];
const KERNEL = [...TABLE, "bandwidth", "nu", "degree", "constant"];
const COMPONENTS = [...KERNEL, "components", "order", "picks"];

/** The state parameters that a view of the server depends on. */
export const VIEW_PARAMETERS = {
  points: [...COMPONENTS, "clusters", "method"],
  data: [...TABLE, "x", "y"],
  spectrum: COMPONENTS,
  embedding: [...COMPONENTS, "center"],
  clusters: [...COMPONENTS, "clusters", "method"],
  density: [...COMPONENTS, "terms"],
  gram: [...COMPONENTS, "clusters", "method"],
  eigenfunctions: COMPONENTS,
  path: [...TABLE, "nu", "components", "clusters"],
  unusual: TABLE,
};

const coloring = ({ views: { points }, state }) => [
  state.color,
  points.classes,
  state.color === "cluster" || !points.classes ? points.clusters : null,
];

const embedding = (page) => [
  page.views.embedding,
  page.state.dimensions,
  page.state.dimensions === "3" ? page.rotation : null,
  ...coloring(page),
];

/**
 * The values that a card is drawn from. A card is redrawn if one of its values changes identity.
 * Selected points of scatter plots are marked without redrawing.
 */
export const CARD_DEPENDENCIES = {
  data: (page) => [page.views.data, ...coloring(page)],
  spectrum: ({ views }) => [views.spectrum],
  path: ({ views, summary }) => [views.path, summary.bandwidth],
  eca: embedding,
  pca: embedding,
  clusters: ({ views }) => [
    views.data,
    views.clusters,
    views.points.clusters,
    views.points.classes,
  ],
  density: ({ views }) => [views.data, views.density],
  gram: ({ views, selected }) => [views.gram, views.points.clusters, selected],
  unusual: ({ views, selected }) => [views.data, views.unusual, views.points.rows, selected],
  eigenfunctions: ({ views, selected }) => [views.eigenfunctions, selected],
};

export const isSame = (before, now) =>
  before?.length === now.length && now.every((value, i) => Object.is(value, before[i]));

/**
 * The fresh points, with the old class and cluster objects if they are equal, so that the cards
 * that depend on them are not redrawn.
 */
export function reuseUnchanged(old, fresh) {
  const sameList = (a, b) => a?.length === b?.length && a?.every((value, i) => value === b[i]);
  if (!old || !sameList(old.rows, fresh.rows)) return fresh;
  const isSameClasses =
    old.classes?.kind === fresh.classes?.kind &&
    (old.classes === null
      ? fresh.classes === null
      : sameList(old.classes.values, fresh.classes?.values) &&
        sameList(old.classes.names, fresh.classes?.names));
  return {
    ...fresh,
    rows: old.rows,
    classes: isSameClasses ? old.classes : fresh.classes,
    clusters: sameList(old.clusters, fresh.clusters) ? old.clusters : fresh.clusters,
  };
}
