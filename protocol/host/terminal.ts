/** Words for people: results go to standard output, remarks to standard error, so that a pipe gets results only. */

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}
