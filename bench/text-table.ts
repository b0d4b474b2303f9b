/** Columns of text for a terminal. Owns widths and alignment, and how numbers are shown; knows nothing of what they mean. */

/** The first column is left-aligned, all others right-aligned. The first row is the heading. */
export function textTable(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
}

/** With so many decimals, and more where a small number would look like nothing: 0.045 and not 0.0. */
export function shown(value: number, digits: number): string {
  const isSmall = value !== 0 && Math.abs(value) < 10 ** -digits;
  return value.toFixed(isSmall ? digits + 2 : digits);
}

/** Thousands apart, for large counts. */
export function grouped(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ' ');
}

/** Milliseconds as a person says them. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1_000) return `${ms.toFixed(size < 10 ? 1 : 0)} ms`;
  return `${(ms / 1_000).toFixed(size < 100_000 ? 1 : 0)} s`;
}
