// Text of exported files.

/** CSV with a header line; cells with separators, quotes or line breaks are quoted. */
export function toCsv(header, rows) {
  const quoted = (cell) => {
    const text = String(cell ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((line) => `${line.map(quoted).join(",")}\n`).join("");
}

/** The file name of a Content-Disposition header (RFC 6266, filename*). */
export function fileName(disposition, fallback) {
  const encoded = (disposition ?? "").split("''")[1];
  return encoded ? decodeURIComponent(encoded) : fallback;
}
