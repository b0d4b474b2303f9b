/** Figures as a person says them. */

export function counted(count: number, what: string): string {
  return `${grouped(count)} ${what}${count === 1 ? '' : 's'}`;
}

/** `12,345`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `340 ms`, `1.2 s`, `2 min 5 s`, `3 h 20 min`. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}

/** US dollars; small ones with more digits. Empty when nobody said. */
export function costText(dollars: number | null): string {
  return dollars === null ? '' : `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
}

/** What is not empty, with commas. */
export function listed(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ');
}
