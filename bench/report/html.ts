/**
 * The page: figures, their tables, and where they come from, as one file that loads nothing.
 *
 * Owns the markup. All that differs between two pages of one seed stands between the marks of {@link PROVENANCE}.
 */
import type { BenchResult } from '../result-format.ts';
import type { Figure, Panel, Table } from './figure.ts';
import { STYLE } from './style.ts';
import { escaped } from './svg.ts';

export const PROVENANCE = { begin: '<!-- provenance -->', end: '<!-- /provenance -->' } as const;

export interface Page {
  readonly figures: readonly Figure[];
  readonly sources: readonly BenchResult[];
  /** What is not shown, and how to get it. */
  readonly absent: readonly string[];
  /** The command that makes this page again. */
  readonly command: string;
}

export function pageOf({ figures, sources, absent, command }: Page): string {
  const links = figures.map(({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`);
  const left = absent.map((each) => `<p>${escaped(each)}</p>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Graph Relay: what the bench has measured</title>
<style>
${STYLE}
</style>
</head>
<body>
<header>
<h1>Graph Relay: what the bench has measured</h1>
<p>A relay that lets an AI client start a saved program on its owner's desktop, though nobody can connect to that desktop. Modes are ways in which the desktop asks for work. The same seed gives the same figures.</p>
<p class="source">Made by <code>${escaped(command)}</code></p>
<nav aria-label="Figures"><ul>
${links.join('\n')}
</ul></nav>
${left.join('\n')}
</header>
<main>
${figures.map(sectionOf).join('\n')}
</main>
<footer>
${PROVENANCE.begin}
${provenanceOf(sources)}
${PROVENANCE.end}
</footer>
</body>
</html>
`;
}

function sectionOf({ id, title, text, panels, legend, table, source }: Figure): string {
  const list = legend.length === 0 ? '' : `<ul class="legend">${legend.join('')}</ul>\n`;
  return `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${escaped(title)}</h2>
${text.map((each) => `<p>${escaped(unbroken(each))}</p>`).join('\n')}
<div class="panels">
${panels.map(panelOf).join('\n')}
</div>
${list}<p class="source">Made by <code>${escaped(source.command)}</code> (seed ${source.seed})</p>
${tableOf(table, id)}
</section>`;
}

/** No line ends between a number and its unit. */
function unbroken(text: string): string {
  return text.replace(/(\d) (?=m?s\b)/g, '$1\u00a0');
}

function panelOf({ title, svg }: Panel): string {
  return `<div class="panel"><h3>${escaped(title)}</h3>${svg}</div>`;
}

/** It scrolls by itself where a screen is narrower than it is, and can be scrolled by keys. */
function tableOf({ head, rows }: Table, id: string): string {
  const heading = head.map((cell) => `<th scope="col">${escaped(cell)}</th>`).join('');
  const body = rows.map(
    ([name = '', ...cells]) =>
      `<tr><th scope="row">${escaped(name)}</th>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`,
  );
  return `<div class="scroll" role="region" aria-labelledby="${id}-title ${id}-table" tabindex="0"><table>
<caption id="${id}-table">The numbers</caption>
<thead><tr>${heading}</tr></thead>
<tbody>
${body.join('\n')}
</tbody>
</table></div>`;
}

function provenanceOf(sources: readonly BenchResult[]): string {
  const items = sources.map(({ command, made, wall_clock }) => {
    const { commit, versions, machine } = made;
    const { platform, kernel, cpu, cores, memory_gib } = machine;
    const code = commit === null ? 'unknown commit' : `commit ${commit.id}${commit.dirty ? ' with changes' : ''}`;
    const took = `${wall_clock.started_at}, took ${(wall_clock.duration_ms / 1_000).toFixed(1)} s`;
    const where = `Node ${versions.node} on ${cores} cores (${cpu}), ${memory_gib} GiB, ${platform} ${kernel}`;
    return `<li><code>${escaped(command)}</code><br>${escaped(`${took}; ${code}; ${where}.`)}</li>`;
  });
  return `<section id="provenance" aria-labelledby="provenance-title">
<h2 id="provenance-title">When and where this was measured</h2>
<p>This is the one part that differs when the same is measured again.</p>
<ul>
${items.join('\n')}
</ul>
</section>`;
}
