// Three-dimensional scatter plots: rotation and projection. The plotly bundle has only 2-D plots.

/**
 * Screen coordinates and depth of points given as three columns.
 * A point with a missing coordinate (null) has missing screen coordinates.
 */
export function project([xs, ys, zs], [azimuth, elevation]) {
  const a = (azimuth * Math.PI) / 180;
  const e = (elevation * Math.PI) / 180;
  const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
  const isMissing = (i) => xs[i] === null || ys[i] === null || zs[i] === null;
  const map = (coordinate) => xs.map((x, i) => (isMissing(i) ? null : coordinate(x, ys[i], zs[i])));
  return {
    across: map((x, y) => -sa * x + ca * y),
    upward: map((x, y, z) => -se * (ca * x + sa * y) + ce * z),
    depth: map((x, y, z) => ce * (ca * x + sa * y) + se * z),
  };
}

/** Marker sizes: nearer points are larger. */
export function sizesOf(depth) {
  const known = depth.filter((d) => d !== null);
  const low = Math.min(...known);
  const span = Math.max(...known) - low || 1;
  return depth.map((d) => (d === null ? 0 : 5 + (4 * (d - low)) / span));
}

/** Shapes and labels of the three axes, and the largest distance of a point from the origin. */
export function axes(columns, rotation, names, lineColor) {
  const distances = columns[0].map((_, i) => Math.hypot(...columns.map((column) => column[i])));
  const reach = Math.max(...distances) || 1;
  const length = 0.75 * reach;
  const ends = project(
    [
      [length, 0, 0],
      [0, length, 0],
      [0, 0, length],
    ],
    rotation,
  );
  const shapes = names.map((_, i) => ({
    type: "line",
    x0: 0,
    y0: 0,
    x1: ends.across[i],
    y1: ends.upward[i],
    line: { color: lineColor, width: 1.2, dash: "dot" },
    layer: "below",
  }));
  const annotations = names.map((text, i) => ({
    x: ends.across[i],
    y: ends.upward[i],
    text,
    showarrow: false,
    font: { size: 11 },
  }));
  return { shapes, annotations, reach };
}

/** Azimuth in [-180, 180) and elevation in [-90, 90], in whole degrees. */
export function normalizeRotation(azimuth, elevation) {
  const around = (((Math.round(azimuth) + 180) % 360) + 360) % 360;
  return [around - 180, Math.max(-90, Math.min(90, Math.round(elevation)))];
}

const STEP = 5; // degrees
const KEYS = {
  ArrowLeft: [STEP, 0],
  ArrowRight: [-STEP, 0],
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
};

/** Rotate by dragging and by arrow keys. `put(rotation, isDone)` receives the new rotation. */
export function makeRotatable(plot, get, put) {
  let start = null;
  const isActive = () => plot.classList.contains("rotatable");
  plot.addEventListener("pointerdown", (event) => {
    if (!isActive()) return;
    start = { x: event.clientX, y: event.clientY, rotation: get() };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!start) return;
    const azimuth = start.rotation[0] - (event.clientX - start.x) / 2;
    const elevation = start.rotation[1] + (event.clientY - start.y) / 2;
    put(normalizeRotation(azimuth, elevation), false);
  });
  const stop = () => {
    if (start) put(get(), true);
    start = null;
  };
  plot.addEventListener("pointerup", stop);
  plot.addEventListener("pointercancel", stop);
  plot.addEventListener("keydown", (event) => {
    const step = KEYS[event.key];
    if (!step || !isActive()) return;
    event.preventDefault();
    const [azimuth, elevation] = get();
    put(normalizeRotation(azimuth + step[0], elevation + step[1]), true);
  });
}
