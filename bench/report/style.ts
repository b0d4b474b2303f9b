/**
 * The report's style sheet: colours for both schemes, and a page that a phone can show.
 *
 * Series differ in colour and in how they are dashed. The colours are those of Okabe and Ito, which people with any kind
 * of colour vision tell apart, darkened or lightened until each has a contrast of 3 to 1 with its background.
 */

const LIGHT = {
  ground: '#ffffff',
  panel: '#f6f7f8',
  ink: '#1b1f23',
  faint: '#57606a',
  grid: '#dfe3e7',
  series: ['#c24f00', '#0072b2', '#00805e', '#a8467f', '#5b5b5b', '#8a6d00', '#4b4bb5'],
};

const DARK: typeof LIGHT = {
  ground: '#14171a',
  panel: '#1c2024',
  ink: '#e8eaed',
  faint: '#a3abb3',
  grid: '#363c43',
  series: ['#f0873c', '#56b4e9', '#2dc9a0', '#e79cc8', '#c9c9c9', '#e6c84a', '#a9a9ff'],
};

const DASHES = ['none', '9 3', '3 3', '9 3 3 3', '14 4', '1 4', '9 3 3 3 3 3'];

function colours({ ground, panel, ink, faint, grid, series }: typeof LIGHT): string {
  const numbered = series.map((colour, index) => `--s${index}:${colour}`).join(';');
  return `--ground:${ground};--panel:${panel};--ink:${ink};--faint:${faint};--grid:${grid};${numbered}`;
}

const SERIES_CSS = DASHES.map(
  (dash, index) => `.s${index}{--c:var(--s${index})}.curve.s${index}{stroke-dasharray:${dash}}`,
);

export const STYLE = `
:root{color-scheme:light dark;${colours(LIGHT)}}
@media (prefers-color-scheme:dark){:root{${colours(DARK)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,header,footer{max-width:64rem;margin:0 auto;padding:0 1rem}
h1{font-size:1.6rem;line-height:1.25;margin:1.5rem 0 .5rem}
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .5rem}
h3{font-size:.95rem;margin:0 0 .25rem}
p{margin:.4rem 0;max-width:48rem}
a{color:inherit}
nav ul{padding-left:1.2rem;margin:.5rem 0}
section{margin:2.5rem 0;border-top:1px solid var(--grid);padding-top:1.25rem}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem;margin:1rem 0 .5rem;align-items:start}
.panel{background:var(--panel);border-radius:.5rem;padding:.6rem;min-width:0;max-width:34rem}
svg{display:block;width:100%;height:auto}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;margin:.5rem 0;padding:0;font-size:.9rem}
.legend li{display:flex;align-items:center;gap:.4rem}
.swatch{width:2.25rem;height:.625rem;flex:none}
.source{font-size:.85rem;color:var(--faint)}
code{font:.85em ui-monospace,monospace;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:.75rem 0}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--faint);padding-bottom:.25rem}
th,td{padding:.2rem .6rem;border-bottom:1px solid var(--grid);text-align:right}
td{white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
thead th{vertical-align:bottom;font-weight:600}
tbody th{min-width:8rem}
tbody th{font-weight:400}
#provenance ul{padding-left:1.2rem}
#provenance li{margin:.5rem 0}
@media (max-width:30rem){th,td{padding:.2rem .35rem}}
svg text{fill:var(--ink);font:11px system-ui,sans-serif}
svg text.tick,svg text.axis{fill:var(--faint)}
svg text.name{font-weight:600}
svg text.number{font-weight:700;fill:var(--ground)}
.grid{stroke:var(--grid);stroke-width:1}
.rule{stroke:var(--faint);stroke-width:1}
.curve{fill:none;stroke:var(--c);stroke-width:2}
.waiting{stroke:var(--faint);stroke-width:2}
.bar{fill:var(--c)}
.bar.hollow{fill:none;stroke:var(--c);stroke-width:1.5}
.dot,.spot{fill:var(--c);stroke:var(--ground);stroke-width:1}
.reach{stroke:var(--c);stroke-width:2.5}
${SERIES_CSS.join('\n')}
`.trim();
