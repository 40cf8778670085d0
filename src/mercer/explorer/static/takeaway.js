// What one takes home: pictures, scores, the model, the code, the address.

import { call, Refused } from "./api.js";
import { query } from "./state.js";
import { colour } from "./theme.js";

/** Hand a file to the browser. */
export function download(name, address) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** A view as PNG or SVG, on the page's paper. */
export async function save(plot, id, kind) {
  const picture = { data: plot.data, layout: { ...plot.layout, paper_bgcolor: colour("card"), plot_bgcolor: colour("card") } };
  const size = { width: Math.max(plot.clientWidth, 480), height: Math.max(plot.clientHeight, 360) };
  const address = await Plotly.toImage(picture, { format: kind, scale: kind === "png" ? 2 : 1, ...size });
  download(`mercer-${id}.${kind}`, address);
}

export function startTakeaway(complain) {
  const box = document.getElementById("code-box"), code = document.getElementById("code");
  const fetched = async (path, name) => {
    try {
      const answer = await call(`${path}?${query()}`);
      const blob = URL.createObjectURL(await answer.blob());
      download(name ?? nameOf(answer), blob);
      setTimeout(() => URL.revokeObjectURL(blob), 10_000);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      complain(error.message);
    }
  };
  const nameOf = (answer) => decodeURIComponent((answer.headers.get("content-disposition") ?? "").split("''")[1] ?? "model");
  const instead = (id, work) => document.getElementById(id).addEventListener("click", (event) => { event.preventDefault(); work(); });
  instead("get-scores", () => fetched("/api/scores.csv"));
  instead("get-model", () => fetched("/api/model"));
  instead("code-file", () => fetched("/api/code.py", "view.py"));
  instead("show-code", async () => {
    try {
      code.textContent = await (await call(`/api/code.py?${query()}`)).text();
      box.showModal();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      complain(error.message);
    }
  });
  instead("code-close", () => box.close());
  instead("code-copy", () => copy(code.textContent, document.getElementById("code-copy")));
  instead("copy-link", () => copy(location.href, document.getElementById("copy-link")));
}

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Cannot copy here";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}
