/** What the doctor found, for a person: 80 columns, the verdict last. Pure. */

import type { DoctorReport } from './doctor.ts';
import type { HoldProbe, PathReport, SocketReport, Trips } from './doctor-measure.ts';

const COLUMNS = 80;
/** Where the findings begin. */
const INDENT = 12;

export function doctorText(report: DoctorReport): string {
  const { path, verdict } = report;
  const lines = [
    ...row('Relay', report.relay),
    ...row('Way out', report.proxy === null ? 'direct' : `through the proxy ${report.proxy}`),
    ...row('Reachable', path.trips === null ? 'no' : tripsText(path.trips)),
    ...(path.failure === null ? findings(path) : []),
    '',
    ...row(
      'Verdict',
      verdict.transport === null ? 'no transport works' : choiceText(verdict.transport, verdict.hold_ms),
    ),
    ...row('', `${verdict.why}.`.replace(/\.\.$/, '.')),
    ...verdict.advice.flatMap((advice) => row('To do', advice)),
  ];
  return lines.join('\n');
}

function findings(path: PathReport): string[] {
  return [
    ...row('Holds', holdsText(path.holds)),
    ...row('Meanwhile', path.short_while_held_ms === null ? 'a short call failed' : meanwhileText(path)),
    ...row('WebSocket', path.socket === null ? 'not tried' : socketText(path.socket)),
    ...row('Clock', clockText(path)),
  ];
}

function choiceText(transport: string, holdMs: number): string {
  if (transport === 'plain') return 'plain polling, a request each 20 s';
  if (transport === 'websocket') return 'a WebSocket';
  return `long-poll, requests are held for ${seconds(holdMs)}`;
}

function tripsText({ first_ms, min_ms, median_ms, max_ms }: Trips): string {
  return `yes, round trip ${ms(median_ms)} (${ms(min_ms)} to ${ms(max_ms)}); ${ms(first_ms)} with a new connection`;
}

function holdsText(holds: readonly HoldProbe[]): string {
  const lived = holds.filter(({ failure }) => failure === null);
  const cut = holds.filter(({ failure }) => failure !== null);
  if (cut.length === 0) return `all live, the longest ${seconds(lived[0]?.asked_ms ?? 0)}`;
  const [{ failure }] = cut.slice(-1) as [HoldProbe];
  const how = `cut after ${seconds(failure!.after_ms)}: ${failure!.reason}`;
  return lived.length === 0 ? how : `${seconds(lived[0]!.asked_ms)} lives; ${how}`;
}

function meanwhileText({ short_while_held_ms, holds }: PathReport): string {
  return `a short call took ${ms(short_while_held_ms ?? 0)} while ${holds.length} were held`;
}

function socketText({ trips, failure, silence }: SocketReport): string {
  if (failure !== null) return `no: ${failure.reason}`;
  const held = {
    lives: 'lives through a whole hold',
    'needs signs of life': 'is cut when it is silent; signs of life keep it open',
    'is cut': 'is cut again and again',
  };
  return `yes, round trip ${ms(trips?.median_ms ?? 0)}; ${held[silence ?? 'is cut']}`;
}

function clockText({ clock }: PathReport): string {
  if (clock === null) return 'not known';
  const { offset_ms, uncertainty_ms } = clock;
  const margin = `give or take ${ms(uncertainty_ms)}`;
  if (Math.abs(offset_ms) <= uncertainty_ms) return `the same as the relay's, ${margin}`;
  return `the relay's is ${ms(Math.abs(offset_ms))} ${offset_ms > 0 ? 'ahead' : 'behind'}, ${margin}`;
}

function ms(value: number): string {
  if (value >= 10_000) return seconds(value);
  return value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

function seconds(value: number): string {
  return `${(value / 1_000).toFixed(1)} s`;
}

/** A label and a text, wrapped. A word that is longer than a line stays whole: it may be an address to copy. */
function row(label: string, text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (INDENT + last.length + 1 + word.length > COLUMNS) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line, index) => (index === 0 ? label : '').padEnd(INDENT) + line);
}
