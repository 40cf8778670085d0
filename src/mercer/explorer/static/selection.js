// Selected points: one set for all views, and the table of their rows.

import { json, newestLoader } from "./api.js";
import { plotOf } from "./cards.js";
import { byId, table } from "./dom.js";
import { downloadContent } from "./export.js";
import { plural, toCsv } from "./format.js";
import { markSelected } from "./scatter.js";
import { toQuery } from "./state.js";

const MAX_ROWS = 500;
const BRUSHED = ["data", "eca", "pca", "clusters", "density", "unusual"];
let selected = new Set(); // replaced, never changed: views compare its identity
let rowsOf = () => [];
let onSelect = () => {};
let loadRows = () => {};
let listed = null;

export const getSelected = () => selected;

/** `rows()` returns the indices of the shown rows, `changed()` is called after each selection. */
export function startSelection({ rows, changed, showError }) {
  rowsOf = rows;
  onSelect = changed;
  loadRows = newestLoader({
    load: ({ query, body }) => json(`/api/rows?${query}`, { method: "POST", body }),
    show: showRows,
    fail: showError,
  });
  byId("rows-clear").addEventListener("click", () => select([]));
  byId("rows-csv").addEventListener("click", () => {
    downloadContent(
      "selected-rows.csv",
      toCsv(["row", ...listed.columns], listed.rows),
      "text/csv",
    );
  });
}

/** Listen to selections in a plot. */
export function listen(plot) {
  plot.on("plotly_selected", (event) => {
    if (!event?.range && !event?.lassoPoints) return; // the outline was removed by select()
    const points = event.points.filter((point) => point.customdata !== undefined);
    select(points.map((point) => point.customdata));
  });
  plot.on("plotly_doubleclick", () => select([]));
}

export function select(members) {
  selected = new Set(members);
  for (const id of BRUSHED) {
    markSelected(plotOf(id), selected);
    if (plotOf(id).layout?.selections?.length) Plotly.relayout(plotOf(id), { selections: [] });
  }
  onSelect();
  requestRows();
}

function requestRows() {
  showRows(null);
  byId("rows").hidden = selected.size === 0;
  if (selected.size === 0) return loadRows(null);
  const more = selected.size > MAX_ROWS ? ` (${MAX_ROWS} listed)` : "";
  byId("rows-title").textContent = `${plural(selected.size, "selected row")}${more}`;
  const rows = rowsOf();
  const members = [...selected].sort((a, b) => a - b).slice(0, MAX_ROWS);
  const body = JSON.stringify({ rows: members.map((i) => rows[i]) });
  return loadRows({ query: toQuery(), body });
}

function showRows(found) {
  listed = found;
  byId("rows-csv").disabled = found === null;
  const content = found === null ? [] : [table(["row", ...found.columns], found.rows)];
  byId("rows-table").replaceChildren(...content);
}
