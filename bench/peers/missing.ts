/** Why a peer cannot be measured here, and what a reader can do about it. No fault: a measurement goes on without it. */

export class MissingError extends Error {
  override readonly name = 'MissingError';
  /** What makes it measurable: a command, or a sentence. */
  readonly remedy: string;

  constructor(reason: string, remedy: string) {
    super(reason);
    this.remedy = remedy;
  }
}
