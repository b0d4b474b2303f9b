/**
 * The two systems that keep services of a user: where their files are, and how they are told.
 *
 * Owns the commands; it runs none.
 */
import { join } from 'node:path';
import { LAUNCHD_LABEL, launchdPlist, SERVICE_NAME, type Service, systemdUnit } from './service-file.ts';

export const MANAGER_NAMES = ['systemd', 'launchd'] as const;
export type ManagerName = (typeof MANAGER_NAMES)[number];

/** A program and its arguments. */
export interface Step {
  readonly command: readonly string[];
  /** It also fails when there is nothing to do. */
  readonly mayFail?: boolean;
}

export interface ServiceManager {
  readonly file: string;
  readonly text: (service: Service) => string;
  /** From the next login on. */
  readonly enable: readonly Step[];
  /** Now; anew when it runs. */
  readonly start: readonly Step[];
  /** Stops and forgets it, before its file goes. */
  readonly disable: readonly Step[];
  /** Fails when it does not run at the moment. */
  readonly active: readonly Step[];
  /** When its file has gone. */
  readonly forget: readonly Step[];
  /** How a person sees what it said before it had its data folder. */
  readonly words: string;
}

export interface Home {
  /** The user's home folder. */
  readonly home: string;
  /** `XDG_CONFIG_HOME`, where it is set. */
  readonly config: string | undefined;
  /** The user's number. */
  readonly uid: number;
}

/** Null where neither is at home. */
export function usualManager(platform: NodeJS.Platform): ManagerName | null {
  if (platform === 'linux') return 'systemd';
  return platform === 'darwin' ? 'launchd' : null;
}

export function managerOf(name: ManagerName, home: Home): ServiceManager {
  return name === 'systemd' ? systemd(home) : launchd(home);
}

function systemd({ home, config }: Home): ServiceManager {
  const systemctl = (...args: string[]) => ['systemctl', '--user', ...args];
  return {
    file: join(config || join(home, '.config'), 'systemd', 'user', `${SERVICE_NAME}.service`),
    text: systemdUnit,
    enable: [{ command: systemctl('daemon-reload') }, { command: systemctl('enable', SERVICE_NAME) }],
    start: [{ command: systemctl('restart', SERVICE_NAME) }],
    active: [{ command: systemctl('is-active', '--quiet', SERVICE_NAME) }],
    disable: [{ command: systemctl('disable', '--now', SERVICE_NAME), mayFail: true }],
    forget: [{ command: systemctl('daemon-reload'), mayFail: true }],
    words: `journalctl --user -u ${SERVICE_NAME}`,
  };
}

function launchd({ home, uid }: Home): ServiceManager {
  const file = join(home, 'Library', 'LaunchAgents', `${LAUNCHD_LABEL}.plist`);
  const domain = `gui/${uid}`;
  const label = `${domain}/${LAUNCHD_LABEL}`;
  // A job that is loaded keeps its old file until it is loaded anew.
  const unload: Step = { command: ['launchctl', 'bootout', label], mayFail: true };
  return {
    file,
    text: launchdPlist,
    enable: [{ command: ['launchctl', 'enable', label] }],
    start: [unload, { command: ['launchctl', 'bootstrap', domain, file] }],
    active: [{ command: ['launchctl', 'print', label] }],
    disable: [unload],
    forget: [],
    words: 'cat desktop/service-errors.log, in the data folder',
  };
}
