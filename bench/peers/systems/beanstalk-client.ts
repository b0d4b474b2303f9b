/**
 * A client of beanstalkd's text protocol, with the few commands that a queue needs. Commands are sent at once, and
 * answered in their order; a reserve that waits holds back what is sent after it on this connection.
 */
import { connect, type Socket } from 'node:net';

export interface Reserved {
  readonly id: string;
  readonly body: string;
}

interface Answer {
  readonly words: readonly string[];
  readonly body: string;
}

const LINE_END = '\r\n';

export class BeanstalkClient {
  readonly #socket: Socket;
  readonly #asked: PromiseWithResolvers<Answer>[] = [];
  #received = Buffer.alloc(0);

  private constructor(socket: Socket, onGone: (error: Error) => void) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      const error = new Error('The connection to beanstalkd is closed.');
      for (const asked of this.#asked.splice(0)) asked.reject(error);
      onGone(error);
    });
  }

  static connect(port: number, onGone: (error: Error) => void): Promise<BeanstalkClient> {
    return new Promise((done, failed) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', failed);
      socket.once('connect', () => done(new BeanstalkClient(socket, onGone)));
    });
  }

  async use(tube: string): Promise<void> {
    await this.#ask(`use ${tube}`, 'USING');
  }

  async watchOnly(tube: string): Promise<void> {
    await this.#ask(`watch ${tube}`, 'WATCHING');
    await this.#ask('ignore default', 'WATCHING');
  }

  async put(body: string): Promise<void> {
    await this.#ask(`put 0 0 60 ${Buffer.byteLength(body)}${LINE_END}${body}`, 'INSERTED');
  }

  async reserve(): Promise<Reserved> {
    const { words, body } = await this.#ask('reserve', 'RESERVED');
    return { id: words[1] ?? '', body };
  }

  async delete(id: string): Promise<void> {
    await this.#ask(`delete ${id}`, 'DELETED');
  }

  close(): void {
    this.#socket.destroy();
  }

  async #ask(command: string, expected: string): Promise<Answer> {
    const asked = Promise.withResolvers<Answer>();
    this.#asked.push(asked);
    this.#socket.write(command + LINE_END);
    const answer = await asked.promise;
    if (answer.words[0] === expected) return answer;
    throw new Error(`beanstalkd answered "${answer.words.join(' ')}" to "${command.split(LINE_END)[0]}".`);
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#received, chunk]);
    for (;;) {
      const lineEnd = this.#received.indexOf(LINE_END);
      if (lineEnd < 0) return;
      const words = this.#received.toString('latin1', 0, lineEnd).split(' ');
      let next = lineEnd + LINE_END.length;
      let body = '';
      if (words[0] === 'RESERVED') {
        const bodyEnd = next + Number(words[2]);
        if (this.#received.length < bodyEnd + LINE_END.length) return;
        body = this.#received.toString('utf8', next, bodyEnd);
        next = bodyEnd + LINE_END.length;
      }
      this.#received = this.#received.subarray(next);
      this.#asked.shift()?.resolve({ words, body });
    }
  }
}
