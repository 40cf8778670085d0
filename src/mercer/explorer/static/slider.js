// The bandwidth: a logarithmic slider with marks, beside a number.

import { set } from "./state.js";
import { number } from "./words.js";

const STEPS = 1000;
const range = document.getElementById("sigma");
const field = document.getElementById("sigma-number");
let marks = null;
let optimum = null;

const toWidth = (step) => marks.low * (marks.high / marks.low) ** (step / STEPS);
const toStep = (width) => (STEPS * Math.log(width / marks.low)) / Math.log(marks.high / marks.low);
const percentOf = (width) => (100 * toStep(width)) / STEPS;

export function startSlider() {
  range.addEventListener("input", () => {
    if (!marks) return;
    const width = Number(toWidth(Number(range.value)).toPrecision(5));
    show(width);
    set({ bandwidth: String(width) });
  });
  document.getElementById("fraction").addEventListener("click", () => {
    set({ bandwidth: String(Number(Math.sqrt(marks.fraction_low * marks.fraction_high).toPrecision(5))) });
  });
  field.addEventListener("change", () => {
    const width = Number(field.value);
    if (width > 0 && Number.isFinite(width)) set({ bandwidth: String(width) });
    else set({ bandwidth: null });
  });
}

/** Take over what the explorer said of the bandwidths. */
export function updateSlider(summary) {
  const box = document.getElementById("width");
  const usable = summary.bandwidth !== null;
  box.hidden = !usable;
  if (!usable) return;
  box.querySelector("label").innerHTML = summary.is_numeric ? "Bandwidth <i>σ</i>" : "Bandwidth factor";
  if (JSON.stringify(marks) !== JSON.stringify(summary.marks)) {
    marks = summary.marks;
    drawMarks();
  }
  if (document.activeElement !== range) show(summary.bandwidth);
  else range.setAttribute("aria-valuetext", `σ = ${number(summary.bandwidth)}`);
}

/** Mark what the sweep found; null while it is not known. */
export function markOptimum(width) {
  if (width === optimum) return;
  optimum = width;
  drawMarks();
}

function show(width) {
  range.value = Math.round(toStep(width));
  range.setAttribute("aria-valuetext", `σ = ${number(width)}`);
  if (document.activeElement !== field) field.value = number(width, 4);
}

function drawMarks() {
  if (!marks) return;
  const band = document.getElementById("band");
  band.hidden = document.getElementById("fraction").hidden = marks.fraction_low === undefined;
  if (!band.hidden) {
    band.style.left = `${percentOf(marks.fraction_low)}%`;
    band.style.width = `${percentOf(marks.fraction_high) - percentOf(marks.fraction_low)}%`;
  }
  const wanted = marks.silverman === undefined
    ? [["table’s own", marks.auto, ""]]
    : [["Silverman", marks.silverman, ""]];
  if (marks.silverman !== undefined && Math.abs(Math.log(marks.auto / marks.silverman)) > 0.02) wanted.push(["rule “auto”", marks.auto, ""]);
  if (optimum) wanted.push(["swept optimum", optimum, "best"]);
  const places = wanted.map(([text, width, kind]) => ({ text, width, kind, at: percentOf(width) })).sort((a, b) => a.at - b.at);
  document.getElementById("marks").replaceChildren(...places.map(({ text, width, kind, at }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `${kind}${at < 4 ? " first" : at > 96 ? " last" : ""}`;
    button.textContent = text;
    button.title = `σ = ${number(width)}`;
    button.style.left = `${Math.max(0, Math.min(100, at))}%`;
    button.addEventListener("click", () => set({ bandwidth: String(Number(width.toPrecision(8))) }));
    return button;
  }));
  spread();
}

/** Labels that would overlap go to a lower line. */
function spread() {
  const buttons = [...document.getElementById("marks").children], ends = [];
  for (const button of buttons) {
    const box = button.getBoundingClientRect();
    let row = ends.findIndex((end) => box.left > end + 4);
    if (row < 0) row = ends.length;
    ends[row] = box.right;
    button.style.setProperty("--row", row);
  }
  document.querySelector(".track").style.paddingBottom = `${0.4 + 1.05 * ends.length}rem`;
}
addEventListener("resize", spread);
