// Colours: from the page's variables and the library's palette, so that plots follow light and dark.

const root = document.documentElement;
let palettes = { light: ["#0072b2"], dark: ["#5ab0e6"] };
export const SYMBOLS = ["circle", "triangle-up", "square", "diamond", "triangle-down", "cross", "x", "triangle-left", "triangle-right", "pentagon"];

export function usePalettes(given) {
  palettes = given;
}
export const isDark = () => root.dataset.theme === "dark";
export const palette = () => palettes[isDark() ? "dark" : "light"];
export const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

/** Follow the system until the user decides; tell when it changes. */
export function startTheme(button, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("mercer-theme"); } catch { return null; } };
  const apply = () => {
    root.dataset.theme = stored() ?? (system.matches ? "dark" : "light");
    button.textContent = isDark() ? "Light colours" : "Dark colours";
  };
  button.addEventListener("click", () => {
    try { localStorage.setItem("mercer-theme", isDark() ? "light" : "dark"); } catch { root.dataset.theme = isDark() ? "light" : "dark"; }
    apply();
    changed();
  });
  system.addEventListener("change", () => { apply(); changed(); });
  apply();
}

/** What all plots have in common. */
export function layout(more = {}) {
  const axis = { gridcolor: colour("grid"), zerolinecolor: colour("line"), linecolor: colour("line"), tickcolor: colour("line"), automargin: true, title: { standoff: 6 } };
  const merged = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 11.5, color: colour("soft") },
    margin: { l: 42, r: 10, t: 8, b: 36 }, showlegend: false, hoverlabel: { font: { size: 12 } },
    dragmode: false, ...more,
  };
  for (const name of Object.keys(merged).filter((key) => /^[xy]axis/.test(key))) {
    merged[name] = { ...axis, ...merged[name] };
  }
  return merged;
}

export const CONFIG = { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false };

/** Light to dark (or dark to light) in one hue: paper for nothing, accent for much. */
export const sequential = () => isDark()
  ? [[0, "#1a2029"], [0.25, "#1f3f5b"], [0.5, "#2a6a99"], [0.75, "#5ab0e6"], [1, "#e4f4ff"]]
  : [[0, "#ffffff"], [0.25, "#cfe3f2"], [0.5, "#7fb6dc"], [0.75, "#2c7fb8"], [1, "#083a63"]];

/** Two hues around the paper. */
export const diverging = () => isDark()
  ? [[0, "#5ab0e6"], [0.5, "#1a2029"], [1, "#ff8a3d"]]
  : [[0, "#0072b2"], [0.5, "#ffffff"], [1, "#d55e00"]];
