/**
 * The file that makes a desktop a service of its user: a systemd unit, or a launchd agent on macOS.
 *
 * Owns the text, and when the service is started again. It writes nothing, and puts no secret in: the desktop has its
 * login in its data folder.
 */
import { EXIT_CODES, FINAL_EXITS, FINAL_EXITS_VARIABLE } from '../../protocol/host/exit-codes.ts';

export const SERVICE_NAME = 'graph-relay-desktop';
export const LAUNCHD_LABEL = 'graph-relay.desktop';

/** Between an end that a new start may mend, and that start. */
const RESTART_SECONDS = 10;
/** The desktop lets runs finish for 10 s and its engine go for 5 s. */
const STOP_SECONDS = 30;

export interface Service {
  /** Program and arguments. All paths are whole ones. */
  readonly command: readonly string[];
  /** Where programs are looked for, such as those that answer agents: a service does not get that of a shell. */
  readonly path: string;
  /** The desktop's folder in the data folder. */
  readonly folder: string;
}

export function systemdUnit(service: Service): string {
  const [program = '', ...args] = service.command;
  const final = FINAL_EXITS.map((name) => EXIT_CODES[name]).join(' ');
  return `# Written by "graph-relay desktop install", which overwrites it; "uninstall" removes it.
[Unit]
Description=Graph Relay desktop

[Service]
Type=exec
ExecStart=${[quoted(program), ...args.map((arg) => quoted(arg).replaceAll('$', '$$$$'))].join(' ')}
Environment=${quoted(`PATH=${service.path}`)}
Restart=on-failure
RestartSec=${RESTART_SECONDS}
# The desktop was replaced or refused, is there already, or cannot read its state: somebody has to do something first.
RestartPreventExitStatus=${final}
# Runs get their time to finish: their programs are not told to stop with the desktop.
KillMode=mixed
TimeoutStopSec=${STOP_SECONDS}

[Install]
WantedBy=default.target
`;
}

/** As systemd reads words: in double quotes, and `%` would be one of its own variables. */
function quoted(word: string): string {
  return `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`;
}

type PlistValue = string | number | boolean | readonly string[] | { readonly [key: string]: PlistValue };

export function launchdPlist(service: Service): string {
  const agent: PlistValue = {
    Label: LAUNCHD_LABEL,
    ProgramArguments: service.command,
    // launchd knows no codes: whatever is not 0 is started again. The desktop makes 0 of those that are final.
    EnvironmentVariables: { PATH: service.path, [FINAL_EXITS_VARIABLE]: 'ok' },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: RESTART_SECONDS,
    ExitTimeOut: STOP_SECONDS,
    StandardOutPath: '/dev/null',
    StandardErrorPath: serviceErrors(service),
  };
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "graph-relay desktop install", which overwrites it; "uninstall" removes it. -->
<plist version="1.0">
${plistText(agent, '')}
</plist>
`;
}

/** What the desktop says before it has its data folder, where no journal keeps it. */
export function serviceErrors({ folder }: Pick<Service, 'folder'>): string {
  return `${folder}/service-errors.log`;
}

function plistText(value: PlistValue, indent: string): string {
  const inner = `${indent}  `;
  if (typeof value === 'boolean') return `${indent}<${value}/>`;
  if (typeof value === 'number') return `${indent}<integer>${value}</integer>`;
  if (typeof value === 'string') return `${indent}<string>${escaped(value)}</string>`;
  if (isList(value))
    return `${indent}<array>\n${value.map((each) => plistText(each, inner)).join('\n')}\n${indent}</array>`;
  const entries = Object.entries(value).map(
    ([key, each]) => `${inner}<key>${escaped(key)}</key>\n${plistText(each, inner)}`,
  );
  return `${indent}<dict>\n${entries.join('\n')}\n${indent}</dict>`;
}

function isList(value: PlistValue): value is readonly string[] {
  return Array.isArray(value);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
