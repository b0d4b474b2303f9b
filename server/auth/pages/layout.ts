/**
 * The frame of every page, and the headers that keep it safe in a browser.
 *
 * Owns the look and the content security policy: no script, nothing from elsewhere, in nobody's frame, and forms go
 * nowhere but where a page says. Must not know what a page is about.
 */
import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';

const STYLE = `
:root { color-scheme: light dark; --line: #8c8c94; --soft: #f1f1f4; --main: #1f4fbf; --on-main: #fff; --bad: #b00020; }
@media (prefers-color-scheme: dark) {
:root { --line: #85858f; --soft: #26262b; --main: #a9c4ff; --on-main: #10192e; --bad: #ff8a9b; }
a { color: var(--main); }
}
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2rem; }
label { display: block; margin: 1rem 0; }
label.choice { display: flex; gap: .6rem; margin: 0; padding: .3rem 0; }
label.choice input { flex: none; width: 1.15rem; height: 1.15rem; margin: .2rem 0 0; }
input[type=text], input[type=password] { display: block; font: inherit; width: 100%; max-width: 24rem; margin-top: .25rem; padding: .5rem; box-sizing: border-box; border: 1px solid var(--line); border-radius: .3rem; }
input[readonly] { background: var(--soft); }
button { font: inherit; padding: .5rem 1rem; margin: .75rem .75rem .75rem 0; border: 1px solid var(--line); border-radius: .3rem; background: var(--soft); color: inherit; cursor: pointer; }
button.main { background: var(--main); border-color: var(--main); color: var(--on-main); }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
fieldset { margin: 1.25rem 0; padding: .5rem 1rem; min-width: 0; border: 1px solid var(--line); border-radius: .3rem; }
.problem { border-left: .3rem solid var(--bad); padding: .5rem .75rem; background: var(--soft); }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
ul { list-style: none; padding: 0; }
li { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; justify-content: space-between; padding: .5rem 0; border-top: 1px solid var(--line); }
li > span { flex: 1 1 14rem; } li button { margin: 0; }
small { display: block; } .code { font: 1.5rem monospace; letter-spacing: .1em; }
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

export interface PageOptions {
  readonly title: string;
  readonly body: Html;
  /** What went wrong with what was sent before. */
  readonly problem?: string | null | undefined;
  readonly status?: number;
  /** Where a form of this page may lead besides here; a browser follows redirects of a form only there. */
  readonly formTargets?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Headers of everything that a browser may show. */
export function browserHeaders(isSecure: boolean, formTargets: readonly string[] = []): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    ["form-action 'self'", ...formTargets].join(' '),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    // Not `no-referrer`: browsers would then send our own forms with the origin `null`.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-store',
    ...(isSecure && { 'strict-transport-security': 'max-age=31536000' }),
  };
}

export function page(options: PageOptions, isSecure: boolean): Response {
  const { status = 200, formTargets = [], headers = {} } = options;
  return new Response(pageText(options), {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', ...browserHeaders(isSecure, formTargets), ...headers },
  });
}

export function pageText({ title, body, problem = null }: PageOptions): string {
  const warning = problem === null ? null : html`<p class="problem" role="alert">${problem}</p>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Graph Relay</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${warning}
${body}
</main>
</body>
</html>
`.text;
}

/** See other: a page that was sent by a form is not sent again by a reload. */
export function redirect(to: string, headers: Headers = new Headers()): Response {
  headers.set('location', to);
  headers.set('cache-control', 'no-store');
  headers.set('referrer-policy', 'same-origin');
  return new Response(null, { status: 303, headers });
}
