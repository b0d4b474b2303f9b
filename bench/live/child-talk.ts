/**
 * Helper processes of the bench: started, asked one question at a time, and gone when they are let go.
 *
 * Owns that nobody waits for ever for a process that has ended.
 */
import { fork } from 'node:child_process';

export interface Helper<Question, Answer> {
  ask(question: Question): Promise<Answer>;
  /** The next thing that it says by itself. */
  heard(): Promise<Answer>;
  /** Resolves when it has ended by itself, which it does once nobody listens. */
  end(): Promise<void>;
}

export function startHelper<Question, Answer>(
  what: string,
  { program, args = [] }: { program: URL; args?: readonly string[] },
): Helper<Question, Answer> {
  const child = fork(program, args);
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const heard = () =>
    new Promise<Answer>((resolve, reject) => {
      const gone = (code: number | null, signal: string | null) =>
        reject(new Error(`${what} ended in mid-measurement (${signal ?? `exit code ${code}`}).`));
      child.once('exit', gone);
      child.once('message', (answer) => {
        child.off('exit', gone);
        resolve(answer as Answer);
      });
    });
  return {
    ask(question) {
      const answer = heard();
      child.send(question as object);
      return answer;
    },
    heard,
    async end() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
