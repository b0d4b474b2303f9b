/**
 * Whom this process trusts on its way out: a certificate authority of the owner's own, beside the usual ones.
 *
 * Owns a setting of the whole process, so it is called once, by a composition root. Certificates that come with
 * NODE_EXTRA_CA_CERTS are there already.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { ExitError } from '../../protocol/host/exit-codes.ts';

/** Where the file may be named instead of on the command line. */
export const CA_VARIABLE = 'GRAPH_RELAY_CA';

/**
 * Trusts the certificates (PEM) of the file too, or of the one that the environment names. Must come before the first
 * connection: what is connected keeps what was true then.
 */
export function trustAlso(file: string | undefined): void {
  const named = file ?? process.env[CA_VARIABLE];
  if (named) tls.setDefaultCACertificates([...tls.getCACertificates('default'), ...certificatesIn(named)]);
}

/** The certificates of the file, each checked: a wrong file should fail here, not at some connection. */
function certificatesIn(file: string): string[] {
  try {
    const found = readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    if (found.length === 0) throw new Error('it holds no PEM certificate');
    return found.map((pem) => new X509Certificate(pem).toString());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ExitError('usage', `The certificates in ${file} cannot be used: ${reason}.`, { cause: error });
  }
}
