// Selected points: one set for all views, and the table of their rows.

import { json } from "./api.js";
import { query } from "./state.js";
import { plotOf, table } from "./cards.js";
import { mark } from "./scatter.js";
import { download } from "./takeaway.js";
import { plural } from "./words.js";

export const selected = new Set();
const MOST = 500;
let rowsOf = () => [];
let redraw = () => {};
let shown = null;

export function startSelection(rows, redrawn) {
  rowsOf = rows;
  redraw = redrawn;
  document.getElementById("rows-clear").addEventListener("click", () => select([]));
  document.getElementById("rows-csv").addEventListener("click", () => {
    const quoted = (cell) => (/[",\n]/.test(String(cell ?? "")) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell ?? ""));
    const lines = [["row", ...shown.columns], ...shown.rows].map((line) => line.map(quoted).join(","));
    download("selected-rows.csv", URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" })));
  });
}

/** Listen to brushing in a plot. */
export function listen(plot) {
  plot.on("plotly_selected", (event) => {
    if (!event?.range && !event?.lassoPoints) return; // our own clearing of the outline comes here too
    select(event.points.filter((point) => point.customdata !== undefined).map((point) => point.customdata));
  });
  plot.on("plotly_doubleclick", () => select([]));
}

export function select(members) {
  selected.clear();
  members.forEach((one) => selected.add(one));
  for (const id of ["data", "eca", "pca", "clusters", "density"]) {
    mark(plotOf(id), selected);
    if (plotOf(id).layout?.selections?.length) Plotly.relayout(plotOf(id), { selections: [] });
  }
  redraw(["gram", "eigenfunctions"]);
  showRows();
}

async function showRows() {
  const box = document.getElementById("rows");
  box.hidden = selected.size === 0;
  if (box.hidden) return;
  const rows = rowsOf(), wanted = [...selected].sort((a, b) => a - b).slice(0, MOST).map((i) => rows[i]);
  document.getElementById("rows-title").textContent = `${plural(selected.size, "selected row")}${selected.size > MOST ? ` (${MOST} listed)` : ""}`;
  shown = await json(`/api/rows?${query()}`, { method: "POST", body: JSON.stringify({ rows: wanted }) });
  document.getElementById("rows-table").replaceChildren(table(["row", ...shown.columns], shown.rows));
}
