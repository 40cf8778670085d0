// Three dimensions on a plane: our own rotation, since the plot library here draws two.

/** Coordinates on the screen and depth of points given as three columns. */
export function project([xs, ys, zs], [around, up]) {
  const a = (around * Math.PI) / 180, e = (up * Math.PI) / 180;
  const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
  const across = xs.map((x, i) => -sa * x + ca * ys[i]);
  const upward = xs.map((x, i) => -se * (ca * x + sa * ys[i]) + ce * zs[i]);
  const depth = xs.map((x, i) => ce * (ca * x + sa * ys[i]) + se * zs[i]);
  return { across, upward, depth };
}

/** Nearer points are larger. */
export function sizesOf(depth) {
  const low = Math.min(...depth), span = Math.max(...depth) - low || 1;
  return depth.map((d) => 5 + (4 * (d - low)) / span);
}

/** The three axes as lines from the origin, with their names. */
export function axes(columns, turn, names, colour) {
  const reach = Math.max(...columns.flat().map(Math.abs)) || 1, long = 0.85 * reach;
  const ends = project([[long, 0, 0], [0, long, 0], [0, 0, long]], turn);
  const shapes = [], annotations = [];
  names.forEach((name, i) => {
    shapes.push({ type: "line", x0: 0, y0: 0, x1: ends.across[i], y1: ends.upward[i], line: { color: colour, width: 1.2, dash: "dot" }, layer: "below" });
    annotations.push({ x: ends.across[i], y: ends.upward[i], text: name, showarrow: false, font: { size: 11 } });
  });
  return { shapes, annotations, reach };
}

/** Drag and arrow keys turn; `get` and `put` hold the two angles. */
export function makeTurnable(plot, get, put) {
  let from = null;
  const clamp = (around, up) => [((Math.round(around) + 540) % 360) - 180, Math.max(-90, Math.min(90, Math.round(up)))];
  plot.addEventListener("pointerdown", (event) => {
    if (!plot.classList.contains("turning")) return;
    from = { x: event.clientX, y: event.clientY, turn: get() };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!from) return;
    put(clamp(from.turn[0] - (event.clientX - from.x) / 2, from.turn[1] + (event.clientY - from.y) / 2), false);
  });
  const stop = () => { if (from) put(get(), true); from = null; };
  plot.addEventListener("pointerup", stop);
  plot.addEventListener("pointercancel", stop);
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [5, 0], ArrowRight: [-5, 0], ArrowUp: [0, 5], ArrowDown: [0, -5] }[event.key];
    if (!step || !plot.classList.contains("turning")) return;
    event.preventDefault();
    const [around, up] = get();
    put(clamp(around + step[0], up + step[1]), true);
  });
}
