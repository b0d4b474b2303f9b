/**
 * The report as a reader meets it: in Debian's chromium, on a desktop and on a phone, in both colour schemes.
 *
 * The browser is no dependency of the project. Without it this is skipped, except where CI is set: there it fails.
 */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { runSources } from '../../bench/report/gather.ts';
import { makeReport } from '../../bench/report/report.ts';
import { expectProcesses, tempFolder } from '../process/support.ts';
import { GIVEN, SMALL } from './small-report.ts';

expectProcesses(t);

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
const NO_CHROMIUM = 'chromium is not installed: apt-get install chromium';
/** Where somebody wants to look as well: every section, in each size and scheme. */
const SCREENSHOTS = process.env.REPORT_SCREENSHOTS;

async function browse(t: Test): Promise<Browser | null> {
  if (CHROMIUM === undefined) {
    if (process.env.CI) t.fail(NO_CHROMIUM);
    else t.pass('skipped', { skip: NO_CHROMIUM });
    return null;
  }
  // Root has no sandbox, and the page is our own.
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  t.teardown(() => browser.close());
  return browser;
}

const SIZES = { desktop: { width: 1_200, height: 900 }, phone: { width: 375, height: 800 } };

/** Opens the page. Whatever it says or asks for is collected. */
async function open(browser: Browser, at: { file: string; size: keyof typeof SIZES; scheme: 'light' | 'dark' }) {
  const context = await browser.newContext({ viewport: SIZES[at.size], colorScheme: at.scheme });
  const page = await context.newPage();
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(error.message));
  const url = pathToFileURL(at.file).href;
  page.on('request', (request) => request.url() !== url && said.push(`asked for ${request.url()}`));
  await page.goto(url);
  return { page, said, close: () => context.close() };
}

/** Each text of a plot that is cut by the plot's border, or lies over another text. */
function troubledTexts(page: Page): Promise<string[]> {
  return page.locator('.panel svg').evaluateAll((svgs) =>
    svgs.flatMap((svg) => {
      const frame = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll('text:not(.number)')].map((text) => ({
        words: text.textContent,
        box: text.getBoundingClientRect(),
      }));
      const cut = texts.filter(
        ({ box }) =>
          box.left < frame.left - 1 ||
          box.right > frame.right + 1 ||
          box.top < frame.top - 1 ||
          box.bottom > frame.bottom + 1,
      );
      const over = texts.filter(({ box }, index) =>
        texts
          .slice(index + 1)
          .some(
            (other) =>
              Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left) > 1 &&
              Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top) > 4,
          ),
      );
      return [...cut, ...over].map(({ words }) => `${svg.getAttribute('aria-label')?.slice(0, 40)}: ${words}`);
    }),
  );
}

async function lookAt(t: Test, page: Page, name: string): Promise<void> {
  const seen = await page.locator('html').evaluate((html) => {
    const plots = [...html.querySelectorAll('.panel svg')];
    const boxOf = (element: (typeof plots)[number]) => element.getBoundingClientRect();
    return {
      width: html.ownerDocument.scrollingElement!.scrollWidth,
      plots: plots.map((svg) => ({ width: boxOf(svg).width, height: boxOf(svg).height })),
      marks: plots.map((svg) => svg.querySelectorAll('path,rect,circle').length),
      ground: html.ownerDocument.defaultView!.getComputedStyle(html.querySelector('body')!).backgroundColor,
      letter: Math.min(...[...html.querySelectorAll('.panel svg text')].map((text) => boxOf(text).height)),
      scripts: html.ownerDocument.scripts.length,
    };
  });
  t.ok(seen.width <= page.viewportSize()!.width, `${name}: ${seen.width} px wide, nothing to scroll sideways`);
  t.ok(seen.plots.length >= 20, `${seen.plots.length} plots`);
  t.ok(
    seen.plots.every(({ width, height }) => width > 250 && height > 50),
    'every plot can be seen',
  );
  t.ok(
    seen.marks.every((count) => count > 0),
    'and has something in it',
  );
  t.ok(seen.letter >= 9, `the smallest line of text is ${seen.letter} px high`);
  t.equal(seen.scripts, 0);
  t.same(await troubledTexts(page), [], `${name}: no text is cut off or covers another`);
  t.equal(seen.ground, name.includes('dark') ? 'rgb(20, 23, 26)' : 'rgb(255, 255, 255)');
}

async function tablesIn(page: Page): Promise<string[][][]> {
  return page
    .locator('main table')
    .evaluateAll((tables) =>
      tables.map((table) =>
        [...table.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent ?? '')),
      ),
    );
}

t.test('in a browser: nothing is loaded, everything is seen, at each size and in both schemes', async (t) => {
  const browser = await browse(t);
  if (browser === null) return;
  const file = join(await tempFolder(t), 'report.html');
  const { html, result } = await makeReport(await runSources(SMALL), GIVEN);
  await writeFile(file, html);
  for (const size of ['desktop', 'phone'] as const) {
    for (const scheme of ['light', 'dark'] as const) {
      const name = `${size}-${scheme}`;
      const { page, said, close } = await open(browser, { file, size, scheme });
      await lookAt(t, page, name);
      t.same(
        await tablesIn(page),
        result.figures.map(({ rows }) => rows),
        'the tables are those of --json',
      );
      t.same(said, [], `${name}: no error, no request`);
      if (SCREENSHOTS !== undefined) await photograph(page, join(SCREENSHOTS, name));
      await close();
    }
  }
});

async function photograph(page: Page, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, 'top.png') });
  for (const section of await page.locator('section').all()) {
    await section.screenshot({ path: join(folder, `${await section.getAttribute('id')}.png`) });
  }
}
