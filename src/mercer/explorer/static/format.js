// Numbers and counts as text.

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
