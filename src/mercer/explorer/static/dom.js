// Helpers for elements of the page.

export const byId = (id) => document.getElementById(id);

/** Create an element with attributes, properties (text, class) and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const button = (text, attributes = {}) =>
  element("button", { type: "button", text, ...attributes });

/** Replace the options of a select element by pairs of value and text. */
export function setOptions(select, pairs) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value)));
}

export function table(header, rows) {
  const line = (cells, tag) =>
    element(
      "tr",
      {},
      ...cells.map((cell) =>
        element(tag, { text: cell ?? "", scope: tag === "th" ? "col" : undefined }),
      ),
    );
  return element(
    "table",
    {},
    element("thead", {}, line(header, "th")),
    element("tbody", {}, ...rows.map((cells) => line(cells, "td"))),
  );
}
