/**
 * A real browser on a real port: the relay's pages as its owner has them in front of them.
 *
 * Owns how the browser is started, what is wrong with a page that it shows, and the two ways to use it: by pointer and by
 * keyboard. Must not know what a page is about.
 */
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { listenHttp } from '../../server/http-server.ts';
import { openSite, type Site } from '../auth/support.ts';
import { CONTROL_COUNT, FAULTS, FOCUS, WIDTHS } from './page-checks.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The smallest screen that people still use. */
export const PHONE = { width: 375, height: 667 };
export const SCREEN = { width: 1280, height: 800 };

/** Pictures of all pages are put here when it is set; for people who look at them. */
const PICTURES = process.env.GRAPH_RELAY_TEST_PICTURES;

/** Nothing here is a limit on speed: what takes this long hangs. */
const HANGS_MS = 60_000;

export async function openBrowser(t: Test) {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS, timeout: HANGS_MS });
  t.teardown(() => browser.close());
  return browser;
}

/** The relay on a port: its address is known only then, so its routes are opened anew. `publicUrl`: of what is in front. */
export async function listen(t: Test, publicUrl?: string): Promise<Site & { readonly target: string }> {
  const site = await openSite(t, publicUrl === undefined ? {} : { url: publicUrl });
  const { server, url } = await listenHttp(site.relay.fetch, { host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  if (publicUrl === undefined) await site.authorization.open(url);
  return { ...site, url: publicUrl ?? url, target: url };
}

/** Where a client on this machine is told its answer. */
export async function listenAsClient(t: Test): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><html lang="en"><title>Client</title><link rel="icon" href="data:,"><h1>Client</h1>');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
}

export interface VisitorOptions extends BrowserContextOptions {
  /** Goes from field to field with the Tab key, and sends with Enter. */
  readonly byKeyboard?: boolean;
  /** What its pictures are named after; none are taken without it. */
  readonly pictures?: string;
}

/** Somebody at the browser. Complaints of the browser are collected, those about answers that are refusals excepted. */
export class Visitor {
  readonly page: Page;
  readonly complaints: string[] = [];
  readonly #t: Test;
  readonly #options: VisitorOptions;

  private constructor(t: Test, page: Page, options: VisitorOptions) {
    this.page = page;
    this.#t = t;
    this.#options = options;
    page.setDefaultTimeout(HANGS_MS);
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      // A page with a status of 400 and above is one, and its script console says so.
      if (/Failed to load resource.*status of 4\d\d/.test(message.text()) && message.location().url === page.url())
        return;
      this.complaints.push(`${page.url()}: ${message.text()}`);
    });
  }

  static async at(t: Test, browser: Awaited<ReturnType<typeof openBrowser>>, options: VisitorOptions = {}) {
    const { byKeyboard: _byKeyboard, pictures: _pictures, ...context } = options;
    const opened: BrowserContext = await browser.newContext(context);
    return new Visitor(t, await opened.newPage(), options);
  }

  open(address: string) {
    return this.page.goto(address);
  }

  async fill(label: string, text: string): Promise<void> {
    const field = this.page.getByLabel(label, { exact: false });
    if (!this.#options.byKeyboard) return field.fill(text);
    await this.#reach(field);
    await this.page.keyboard.press('ControlOrMeta+a');
    await this.page.keyboard.type(text);
  }

  async tick(label: string): Promise<void> {
    const box = this.page.getByLabel(label);
    if (!this.#options.byKeyboard) return box.click();
    await this.#reach(box);
    await this.page.keyboard.press('Space');
  }

  /** Sends a form by this button; resolves when the next page is there. */
  async press(name: string): Promise<void> {
    const button = this.page.getByRole('button', { name, exact: true });
    const loaded = this.page.waitForEvent('domcontentloaded');
    if (this.#options.byKeyboard) {
      await this.#reach(button);
      await this.page.keyboard.press('Enter');
    } else {
      await button.click();
    }
    await loaded;
    await this.page.waitForLoadState('load');
  }

  /** What the page says went wrong. */
  alert(): Promise<string | null> {
    return this.page.getByRole('alert').textContent();
  }

  heading(): Promise<string | null> {
    return this.page.locator('h1').textContent();
  }

  /** The page as it is now: what everybody needs, whoever they are. */
  async look(heading: string, name: string): Promise<void> {
    const { page } = this;
    const t = this.#t;
    t.equal(await this.heading(), heading, `${name}: its heading`);
    t.same(await page.evaluate(FAULTS), [], `${name}: is usable`);
    for (const [size, viewport] of Object.entries({ screen: SCREEN, phone: PHONE })) {
      await page.setViewportSize(viewport);
      const [content = 0, frame = 0] = await page.evaluate<number[]>(WIDTHS);
      t.ok(content <= frame, `${name}: ${content} of ${frame} pixels are used on a ${size}`);
      await this.#picture(`${name}-${size}`);
    }
    await page.setViewportSize(SCREEN);
    await this.#tabThrough(name);
  }

  async #picture(name: string): Promise<void> {
    if (PICTURES === undefined || this.#options.pictures === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}-${this.#options.pictures}.png`), fullPage: true });
  }

  /** Every control is reached by Tab, in the order in which the page is read, and is seen to be. */
  async #tabThrough(name: string): Promise<void> {
    const count = await this.page.evaluate<number>(CONTROL_COUNT);
    const reached: number[] = [];
    // Once around, wherever the focus was, with the steps outside of the page.
    for (let presses = 0; presses < 2 * count + 4 && reached.length < count; presses++) {
      await this.page.keyboard.press('Tab');
      const { index, isSeen } = await this.page.evaluate<{ index: number; isSeen: boolean }>(FOCUS);
      if (index >= 0 && !isSeen) this.#t.fail(`${name}: it is not seen that control ${index} has the focus`);
      if (index >= 0) reached.push(index);
    }
    const first = reached[0] ?? 0;
    const inOrder = Array.from({ length: count }, (_, step) => (first + step) % count);
    this.#t.same(reached, inOrder, `${name}: the keyboard reaches each control in order`);
  }

  async #reach(wanted: Locator): Promise<void> {
    const isReached = () => wanted.evaluate((element) => element.ownerDocument.activeElement === element);
    for (let presses = 0; !(await isReached()); presses++) {
      if (presses > 100) throw new Error(`the keyboard does not reach ${wanted}`);
      await this.page.keyboard.press('Tab');
    }
  }
}
