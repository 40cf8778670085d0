// What each card is called, explains and needs; how it is built. Drawing is in views.js.

import { save } from "./takeaway.js";

export const CARDS = [
  { id: "data", title: "Data", needs: ["data"], say: "The rows as they are. Drag over points to select them everywhere." },
  { id: "spectrum", title: "Spectrum", needs: ["spectrum"], say: "Eigenvalues above, entropy terms below. Click a bar to add or remove its component." },
  { id: "path", title: "Bandwidth path", needs: ["path"], say: "Clustering cost and kept components for every bandwidth; low and steady is good." },
  { id: "eca", title: "Kernel ECA", needs: ["embedding"], say: "Clusters that hardly touch lie along different rays from the origin." },
  { id: "pca", title: "Kernel PCA", needs: ["embedding"], say: "The same kernel, components chosen by variance: for comparison." },
  { id: "clusters", title: "Clusters", needs: ["data", "clusters"], say: "Rows that point the same way, by angle between components." },
  { id: "density", title: "Density", needs: ["data", "density"], say: "The series of the selected eigenfunctions as a density." },
  { id: "gram", title: "Gram matrix and its reconstruction", wide: true, needs: ["gram"], say: "All pairs of (some) rows, ordered by cluster: left as they are, right from the selected components." },
  { id: "eigenfunctions", title: "Eigenfunctions", full: true, needs: ["eigenfunctions"], say: "Each selected component as a function of the plane: blue below zero, orange above." },
];
export const SCATTERS = ["data", "eca", "pca", "clusters", "density", "gram", "eigenfunctions"];

const plots = new Map();
export const plotOf = (id) => plots.get(id);

/** Make the cards; `seen` is called when some come into sight. */
export function build(grid, seen) {
  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) entry.target.dataset.seen = entry.isIntersecting ? "1" : "";
    if (entries.some((entry) => entry.isIntersecting)) seen();
  }, { rootMargin: "60px" });
  for (const card of CARDS) {
    const box = document.createElement("article");
    box.className = `card${card.wide ? " wide" : ""}${card.full ? " full" : ""}`;
    box.dataset.card = card.id;
    box.id = `card-${card.id}`;
    box.setAttribute("aria-labelledby", `title-${card.id}`);
    box.innerHTML = `<header><h2 id="title-${card.id}">${card.title}</h2></header>
      <p class="say" id="say-${card.id}">${card.say}</p>
      <div class="plot" id="plot-${card.id}" role="img" aria-label="${card.title}: ${card.say}"></div>
      <p class="reason" id="reason-${card.id}" hidden></p><div id="under-${card.id}"></div>`;
    for (const kind of ["png", "svg"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind.toUpperCase();
      button.id = `${kind}-${card.id}`;
      button.setAttribute("aria-label", `${card.title} as ${kind.toUpperCase()}`);
      button.addEventListener("click", () => save(plots.get(card.id), card.id, kind));
      box.querySelector("header").append(button);
    }
    grid.append(box);
    plots.set(card.id, box.querySelector(".plot"));
    sight.observe(box);
  }
}

export const isSeen = (id) => document.getElementById(`card-${id}`).dataset.seen === "1";

/** The sentence under a card's title, which also describes the plot to a screen reader. */
export function say(id, text) {
  document.getElementById(`say-${id}`).textContent = text;
  plots.get(id).setAttribute("aria-label", `${CARDS.find((card) => card.id === id).title}: ${text}`);
}

/** Show a reason in place of a plot, or the plot. */
export function reason(id, text) {
  const place = document.getElementById(`reason-${id}`);
  place.hidden = !text;
  place.textContent = text ?? "";
  plots.get(id).hidden = Boolean(text);
  for (const kind of ["png", "svg"]) document.getElementById(`${kind}-${id}`).hidden = Boolean(text);
}

/** A table of numbers for those who cannot see the plot. */
export function numbers(id, header, rows) {
  const under = document.getElementById(`under-${id}`);
  let box = under.querySelector("details.numbers");
  if (!box) {
    box = document.createElement("details");
    box.className = "numbers";
    box.innerHTML = `<summary>Numbers</summary><div class="scroll" tabindex="0" role="region" aria-label="Numbers of the view"></div>`;
    under.append(box);
  }
  box.querySelector("div").replaceChildren(table(header, rows));
}

export function table(header, rows) {
  const made = document.createElement("table");
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const box = document.createElement(kind);
      box.textContent = cell ?? "";
      if (kind === "th") box.scope = "col";
      row.append(box);
    }
    return row;
  };
  made.createTHead().append(line(header, "th"));
  made.createTBody().append(...rows.map((cells) => line(cells, "td")));
  return made;
}
