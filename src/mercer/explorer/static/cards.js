// The cards of the page: titles, captions and the views they need. views.js draws them.

import { button, byId, element, table } from "./dom.js";
import { saveFigure } from "./export.js";

export const CARDS = [
  {
    id: "data",
    title: "Data",
    needs: ["data"],
    brushes: true,
    caption: "The rows. Drag over points to select them in all views.",
  },
  {
    id: "spectrum",
    title: "Spectrum",
    needs: ["spectrum"],
    caption: "Eigenvalues above, entropy terms below. Click a bar to add or remove its component.",
  },
  {
    id: "path",
    title: "Bandwidth path",
    needs: ["path"],
    caption: "Clustering cost and selected components by bandwidth; a low, stable cost is good.",
  },
  {
    id: "eca",
    title: "Kernel ECA",
    needs: ["embedding"],
    brushes: true,
    caption: "Well separated clusters lie along different directions from the origin.",
  },
  {
    id: "pca",
    title: "Kernel PCA",
    needs: ["embedding"],
    brushes: true,
    caption: "For comparison: the same kernel, components selected by variance.",
  },
  {
    id: "clusters",
    title: "Clusters",
    needs: ["data", "clusters"],
    brushes: true,
    caption: "Rows clustered by the angle between their scores.",
  },
  {
    id: "density",
    title: "Density",
    needs: ["data", "density"],
    brushes: true,
    caption: "The series density of the selected eigenfunctions.",
  },
  {
    id: "unusual",
    title: "Unusual rows",
    size: "wide",
    needs: ["data", "unusual"],
    brushes: true,
    caption: "Rows that differ most from all others, and what was expected in their cells.",
  },
  {
    id: "gram",
    title: "Gram matrix and its reconstruction",
    size: "wide",
    needs: ["gram"],
    caption: "Kernel values of pairs of rows, ordered by cluster, and their reconstruction.",
  },
  {
    id: "eigenfunctions",
    title: "Eigenfunctions",
    size: "full",
    needs: ["data", "eigenfunctions"],
    caption: "Each selected component as a function of the plane: blue negative, orange positive.",
  },
];

const FORMATS = ["png", "svg"];
const plots = new Map();
export const plotOf = (id) => plots.get(id);
export const cardOf = (id) => CARDS.find((card) => card.id === id);

/** Create the cards. `onVisible` is called when some become visible. */
export function buildCards(grid, onVisible) {
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) entry.target.dataset.visible = entry.isIntersecting ? "1" : "";
      if (entries.some((entry) => entry.isIntersecting)) onVisible();
    },
    { rootMargin: "60px" },
  );
  for (const card of CARDS) {
    const plot = element("div", {
      class: "plot",
      id: `plot-${card.id}`,
      role: "img",
      "aria-label": `${card.title}: ${card.caption}`,
    });
    plots.set(card.id, plot);
    const box = element(
      "article",
      {
        class: `card ${card.size ?? ""}`.trim(),
        id: `card-${card.id}`,
        "aria-labelledby": `title-${card.id}`,
      },
      element(
        "header",
        {},
        element("h2", { id: `title-${card.id}`, text: card.title }),
        ...FORMATS.map((format) => saveButton(card, format)),
      ),
      element("p", { class: "caption", id: `caption-${card.id}`, text: card.caption }),
      plot,
      element("p", { class: "reason", id: `reason-${card.id}`, hidden: true }),
      element("div", { id: `below-${card.id}` }),
    );
    grid.append(box);
    observer.observe(box);
  }
}

function saveButton({ id, title }, format) {
  const name = format.toUpperCase();
  const made = button(name, { id: `${format}-${id}`, "aria-label": `${title} as ${name}` });
  made.addEventListener("click", () => saveFigure(plots.get(id), id, format));
  return made;
}

export const isVisible = (id) => byId(`card-${id}`).dataset.visible === "1";

/** Set the sentence under the title, which also describes the plot to screen readers. */
export function setCaption(id, text) {
  byId(`caption-${id}`).textContent = text;
  plots.get(id).setAttribute("aria-label", `${cardOf(id).title}: ${text}`);
}

/** Show the plot or, if there is none, the reason. */
export function setReason(id, text) {
  const reason = byId(`reason-${id}`);
  reason.hidden = !text;
  reason.textContent = text ?? "";
  plots.get(id).hidden = Boolean(text);
  for (const format of FORMATS) byId(`${format}-${id}`).hidden = Boolean(text);
}

/** Set the table of the plotted numbers below a card. */
export function setNumbers(id, header, rows) {
  const below = byId(`below-${id}`);
  let box = below.querySelector("details.numbers");
  if (!box) {
    const region = element("div", {
      class: "scroll",
      tabindex: "0",
      role: "region",
      "aria-label": "Numbers of the view",
    });
    box = element("details", { class: "numbers" }, element("summary", { text: "Numbers" }), region);
    below.append(box);
  }
  box.querySelector("div").replaceChildren(table(header, rows));
}

/** Set the buttons below a card: keyboard alternatives to clicks on the plot. */
export function setChips(id, label, chips) {
  const below = byId(`below-${id}`);
  let box = below.querySelector(".chips");
  if (!box) {
    box = element("div", { class: "chips", role: "group", "aria-label": label });
    below.prepend(box);
  }
  const focused = [...box.children].indexOf(document.activeElement);
  box.replaceChildren(...chips.map(chipButton));
  if (focused >= 0) box.children[Math.min(focused, box.children.length - 1)]?.focus();
}

function chipButton({ text, color, label, isPressed, press }) {
  const made = button("", { "aria-label": label, "aria-pressed": isPressed?.toString() });
  if (color) {
    const dot = element("i");
    dot.style.background = color;
    made.append(dot);
  }
  made.append(text);
  made.addEventListener("click", press);
  return made;
}
