// Numbers as people read them.

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(Math.max(digits, 1))));
}

export function percent(share) {
  if (share > 0.9995 && share < 1) return "> 99.9 %";
  return `${(100 * share).toFixed(share < 0.0995 ? 2 : 1)} %`;
}

export const plural = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

/** A component's place: some have none that is known. */
export const place = (one) => (one === null ? "?" : String(one));
