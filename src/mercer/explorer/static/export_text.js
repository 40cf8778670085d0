// Text of exported files.

const FORMULA = /^'*[=+\-@\t\r]/;
const HARMLESS = /^[-+]?(\d+([.,]\d+)*(e[-+]?\d+)?)?$/i;

/** A text that a spreadsheet would evaluate gets an apostrophe, as in mercer/csv_files.py. */
export function escapeFormula(cell) {
  const isFormula = typeof cell === "string" && FORMULA.test(cell) && !HARMLESS.test(cell);
  return isFormula ? `'${cell}` : cell;
}

/** CSV with a header line; cells with separators, quotes or line breaks are quoted. */
export function toCsv(header, rows) {
  const quoted = (cell) => {
    const text = String(escapeFormula(cell) ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((line) => `${line.map(quoted).join(",")}\n`).join("");
}

/** The file name of a Content-Disposition header (RFC 6266, filename*). */
export function fileName(disposition, fallback) {
  const encoded = (disposition ?? "").split("''")[1];
  return encoded ? decodeURIComponent(encoded) : fallback;
}
