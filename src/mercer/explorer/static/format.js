// Text of numbers, counts and exported files.

const FORMULA = /^'*[=+\-@\t\r]/;
const HARMLESS = /^[-+]?(\d+([.,]\d+)*(e[-+]?\d+)?)?$/i;

/** A number with this many significant digits; "–" if there is none. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)) {
    return value.toExponential(digits - 1);
  }
  return String(Number(value.toPrecision(Math.max(digits, 1))));
}

/** A fraction as a percentage; only a fraction of 1 reads 100 %. */
export function percent(fraction) {
  if (fraction === null || fraction === undefined || Number.isNaN(fraction)) return "–";
  if (fraction > 0.9995 && fraction < 1) return "> 99.9 %";
  return `${(100 * fraction).toFixed(fraction < 0.0995 ? 2 : 1)} %`;
}

export const integer = (count) => count.toLocaleString("en");

export const plural = (count, noun) => `${integer(count)} ${noun}${count === 1 ? "" : "s"}`;

/** The ranks of components; an unknown rank is null. */
export const rankList = (ranks) => ranks.map((rank) => rank ?? "?").join(", ");

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
