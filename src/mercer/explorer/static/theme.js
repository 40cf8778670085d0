// Colors of the plots: CSS variables of the page and the palette of the library.

const root = document.documentElement;
let palettes = { light: ["#0072b2"], dark: ["#5ab0e6"] };
export const SYMBOLS = [
  "circle",
  "triangle-up",
  "square",
  "diamond",
  "triangle-down",
  "cross",
  "x",
  "triangle-left",
  "triangle-right",
  "pentagon",
];

export function setPalettes(given) {
  palettes = given;
}

export const isDark = () => root.dataset.theme === "dark";
export const palette = () => palettes[isDark() ? "dark" : "light"];
export const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

/** Follow the theme of the system until the user chooses one; call `changed` after each change. */
export function startTheme(toggle, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem("mercer-theme");
    } catch {
      return null; // storage is disabled
    }
  };
  const apply = (theme) => {
    root.dataset.theme = theme;
    toggle.textContent = isDark() ? "Light theme" : "Dark theme";
  };
  const initial = () => stored() ?? (system.matches ? "dark" : "light");
  toggle.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("mercer-theme", theme);
    } catch {
      // storage is disabled: the choice holds until the page is reloaded
    }
    apply(theme);
    changed();
  });
  system.addEventListener("change", () => {
    apply(initial());
    changed();
  });
  apply(initial());
}

/** The layout of a plot: the common settings and those given. */
export function layout(settings = {}) {
  const axis = {
    gridcolor: color("grid"),
    zerolinecolor: color("line"),
    linecolor: color("line"),
    tickcolor: color("line"),
    automargin: true,
    title: { standoff: 6 },
  };
  const merged = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 11.5, color: color("soft") },
    margin: { l: 42, r: 10, t: 8, b: 36 },
    showlegend: false,
    hoverlabel: { font: { size: 12 } },
    dragmode: false,
    ...settings,
  };
  for (const name of Object.keys(merged).filter((key) => /^[xy]axis/.test(key))) {
    merged[name] = { ...axis, ...merged[name] };
  }
  return merged;
}

export const CONFIG = {
  displayModeBar: false,
  responsive: true,
  doubleClick: false,
  scrollZoom: false,
};

const scale = (...colors) => colors.map((one, i) => [i / (colors.length - 1), one]);

/** One hue, from the background color to the accent color. */
export const sequential = () =>
  isDark()
    ? scale("#1a2029", "#1f3f5b", "#2a6a99", "#5ab0e6", "#e4f4ff")
    : scale("#ffffff", "#cfe3f2", "#7fb6dc", "#2c7fb8", "#083a63");

/** Two hues around the background color. */
export const diverging = () =>
  isDark() ? scale("#5ab0e6", "#1a2029", "#ff8a3d") : scale("#0072b2", "#ffffff", "#d55e00");

/** Colors of numeric labels. */
export const labelScale = () => (isDark() ? "Viridis" : scale("#0072b2", "#8a8f96", "#d55e00"));
