/**
 * nginx and Caddy with TLS in front of a relay, with the very configurations of the README: its example's names are
 * replaced, and nothing else. Owns the certificate, which nobody but this process trusts.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { missing, runProxy } from '../faults/proxy-programs.ts';

/** Not one of the names of this machine that the relay knows, so everything depends on the proxy. */
export const HOST = '127.0.0.2';
const README = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');

export interface Front {
  readonly folder: string;
  readonly port: number;
  /** Where the relay listens. */
  readonly target: string;
}

/** The README's block in this language, with its example's names replaced. */
function snippet(language: string, replaced: Readonly<Record<string, string>>): string {
  const block = new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(README)![1]!;
  return Object.entries(replaced).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the README's ${language} does not say ${from}`);
    return text.replaceAll(from, to);
  }, block);
}

function startNginx(t: Test, { folder, port, target }: Front) {
  mkdirSync(join(folder, 'temp'));
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp/${name};`);
  const server = snippet('nginx', {
    'listen 443 ssl': `listen ${HOST}:${port} ssl`,
    'server_name relay.example': `server_name ${HOST}`,
    '/etc/ssl/relay.example.pem': join(folder, 'cert.pem'),
    '/etc/ssl/relay.example.key': join(folder, 'key.pem'),
    'http://127.0.0.1:7420': target,
  });
  const around = `pid nginx.pid;\nerror_log error.log;\nevents {}\nhttp {\naccess_log off;\n${temp.join(' ')}\n`;
  writeFileSync(join(folder, 'nginx.conf'), `${around}${server}\n}\n`);
  const args = ['-p', `${folder}/`, '-c', 'nginx.conf', '-g', 'daemon off;'];
  return runProxy(t, { program: 'nginx', args, url: `https://${HOST}:${port}` });
}

function startCaddy(t: Test, { folder, port, target }: Front) {
  const url = `https://${HOST}:${port}`;
  const site = snippet('caddyfile', {
    // Here it cannot ask for one.
    'relay.example {': `${url} {\n\ttls ${join(folder, 'cert.pem')} ${join(folder, 'key.pem')}\n\tbind ${HOST}`,
    '127.0.0.1:7420': new URL(target).host,
  });
  const config = join(folder, 'Caddyfile');
  writeFileSync(config, `{\n\tadmin off\n\tauto_https off\n}\n${site}\n`);
  const args = ['run', '--config', config, '--adapter', 'caddyfile'];
  const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder };
  return runProxy(t, { program: 'caddy', args, url, env });
}

/** A certificate for {@link HOST} that nobody but this process trusts; gives back its file. */
export function makeCertificate(folder: string): string {
  const file = join(folder, 'cert.pem');
  const names = `subjectAltName=IP:${HOST}`;
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const to = ['-subj', '/CN=relay', '-addext', names, '-keyout', join(folder, 'key.pem'), '-out', file];
  execFileSync('openssl', [...args, ...to], { stdio: 'ignore' });
  if (!existsSync(file)) throw new Error('openssl made no certificate');
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(file, 'utf8')]);
  return file;
}

export const FRONTS = { nginx: startNginx, caddy: startCaddy };

/** Why this one cannot be tested here; false when it can. */
export function missingFront(name: string): string | false {
  return missing(name, name === 'caddy' ? 'version' : '-v') || missing('openssl', 'version');
}
