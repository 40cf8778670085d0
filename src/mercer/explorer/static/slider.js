// The bandwidth slider with its marks and the number field.

import { button, byId } from "./dom.js";
import { number } from "./format.js";
import { STEPS, toBandwidth, toPercent, toStep } from "./slider_scale.js";
import { set } from "./state.js";

const range = byId("sigma");
const field = byId("sigma-number");
let marks = null;
let optimum = null;

export function startSlider() {
  range.max = String(STEPS);
  range.addEventListener("input", () => {
    if (!marks) return;
    const bandwidth = Number(toBandwidth(Number(range.value), marks).toPrecision(5));
    show(bandwidth);
    set({ bandwidth: String(bandwidth) });
  });
  byId("fraction").addEventListener("click", () => {
    const middle = Math.sqrt(marks.fraction_low * marks.fraction_high);
    set({ bandwidth: String(Number(middle.toPrecision(5))) });
  });
  field.addEventListener("change", () => {
    const bandwidth = Number(field.value);
    const isValid = bandwidth > 0 && Number.isFinite(bandwidth);
    set({ bandwidth: isValid ? String(bandwidth) : null });
  });
  addEventListener("resize", stackLabels);
}

/** Show the bandwidth and the marks of a summary. */
export function updateSlider(summary) {
  const hasBandwidth = summary.bandwidth !== null;
  byId("bandwidth").hidden = !hasBandwidth;
  if (!hasBandwidth) return;
  byId("sigma-label").textContent = summary.is_numeric ? "Bandwidth σ" : "Bandwidth multiplier";
  if (!marks || !sameMarks(marks, summary.marks)) {
    marks = summary.marks;
    drawMarks();
  }
  if (document.activeElement === range) setValueText(summary.bandwidth);
  else show(summary.bandwidth);
}

const sameMarks = (a, b) =>
  Object.keys({ ...a, ...b }).every((name) => Object.is(a[name], b[name]));

/** Mark the bandwidth that the sweep selects; null while it is unknown. */
export function markOptimum(bandwidth) {
  if (bandwidth === optimum) return;
  optimum = bandwidth;
  drawMarks();
}

function show(bandwidth) {
  range.value = Math.round(toStep(bandwidth, marks));
  setValueText(bandwidth);
  if (document.activeElement !== field) field.value = number(bandwidth, 4);
}

function setValueText(bandwidth) {
  range.setAttribute("aria-valuetext", `σ = ${number(bandwidth)}`);
}

function drawMarks() {
  if (!marks) return;
  const band = byId("band");
  band.hidden = byId("fraction").hidden = marks.fraction_low === undefined;
  if (!band.hidden) {
    const left = toPercent(marks.fraction_low, marks);
    band.style.left = `${left}%`;
    band.style.width = `${toPercent(marks.fraction_high, marks) - left}%`;
  }
  const made = labeledMarks()
    .map((mark) => ({ ...mark, position: toPercent(mark.bandwidth, marks) }))
    .sort((a, b) => a.position - b.position)
    .map(markButton);
  byId("marks").replaceChildren(...made);
  stackLabels();
}

function labeledMarks() {
  const labeled = [];
  if (marks.silverman === undefined) {
    labeled.push({ text: "default", bandwidth: marks.auto, kind: "" });
  } else {
    labeled.push({ text: "Silverman", bandwidth: marks.silverman, kind: "" });
    if (Math.abs(Math.log(marks.auto / marks.silverman)) > 0.02) {
      labeled.push({ text: "rule “auto”", bandwidth: marks.auto, kind: "" });
    }
  }
  if (optimum) labeled.push({ text: "sweep optimum", bandwidth: optimum, kind: "best" });
  return labeled;
}

function markButton({ text, bandwidth, kind, position }) {
  const end = position < 4 ? "first" : position > 96 ? "last" : "";
  const made = button(text, { class: `${kind} ${end}`.trim(), title: `σ = ${number(bandwidth)}` });
  made.style.left = `${Math.max(0, Math.min(100, position))}%`;
  made.addEventListener("click", () => {
    set({ bandwidth: String(Number(bandwidth.toPrecision(8))) });
  });
  return made;
}

/** Put labels that would overlap on separate lines. */
function stackLabels() {
  const ends = [];
  for (const label of byId("marks").children) {
    const box = label.getBoundingClientRect();
    let line = ends.findIndex((end) => box.left > end + 4);
    if (line < 0) line = ends.length;
    ends[line] = box.right;
    label.style.setProperty("--row", line);
  }
  document.querySelector(".track").style.paddingBottom = `${0.4 + 1.05 * ends.length}rem`;
}
