// Exports: figures, scores, model file, Python code and the address.

import { call, RequestError } from "./api.js";
import { byId } from "./dom.js";
import { fileName } from "./format.js";
import { toQuery } from "./state.js";
import { color } from "./theme.js";

/** Save a text or a blob as a file. */
export function downloadContent(name, content, type) {
  const address = URL.createObjectURL(
    content instanceof Blob ? content : new Blob([content], { type }),
  );
  downloadAddress(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function downloadAddress(name, address) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** Save a figure as PNG or SVG. */
export async function saveFigure(plot, id, format) {
  const background = { paper_bgcolor: color("card"), plot_bgcolor: color("card") };
  const figure = { data: plot.data, layout: { ...plot.layout, ...background } };
  const address = await Plotly.toImage(figure, {
    format,
    scale: format === "png" ? 2 : 1,
    width: Math.max(plot.clientWidth, 480),
    height: Math.max(plot.clientHeight, 360),
  });
  downloadAddress(`mercer-${id}.${format}`, address);
}

export function startExport(showError) {
  const dialog = byId("code-box");
  const code = byId("code");
  const onClick = (id, action) =>
    byId(id).addEventListener("click", async (event) => {
      event.preventDefault();
      try {
        await action();
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        showError(error.message);
      }
    });
  const downloadPath = async (path, fallback) => {
    const response = await call(`${path}?${toQuery()}`);
    const name = fileName(response.headers.get("content-disposition"), fallback);
    downloadContent(name, await response.blob());
  };
  onClick("get-scores", () => downloadPath("/api/scores.csv", "scores.csv"));
  onClick("get-model", () => downloadPath("/api/model", "view.mercer"));
  onClick("code-file", () => downloadPath("/api/code.py", "view.py"));
  onClick("show-code", async () => {
    code.textContent = await (await call(`/api/code.py?${toQuery()}`)).text();
    dialog.showModal();
  });
  onClick("code-close", () => dialog.close());
  onClick("code-copy", () => copy(code.textContent, byId("code-copy")));
  onClick("copy-link", () => copy(location.href, byId("copy-link")));
}

async function copy(text, pressed) {
  const before = pressed.textContent;
  try {
    await navigator.clipboard.writeText(text);
    pressed.textContent = "Copied";
  } catch {
    pressed.textContent = "Cannot copy";
  }
  setTimeout(() => {
    pressed.textContent = before;
  }, 1500);
}
