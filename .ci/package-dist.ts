/** Makes `dist/` a package: the manifest without what only development needs, and the files that are not compiled. */
import { chmod, copyFile, cp, readFile, writeFile } from 'node:fs/promises';

const root = new URL('../', import.meta.url);
const dist = new URL('dist/', root);
const manifest = JSON.parse(await readFile(new URL('package.json', root), 'utf8'));
const { name, version, description, keywords, license, type, dependencies } = manifest;

const published = {
  name,
  version,
  description,
  keywords,
  license,
  type,
  engines: { node: '>=22.18' },
  bin: { 'graph-relay': 'graph-relay.js' },
  exports: {
    './server': './server/relay.js',
    './desktop-agent': './desktop-agent/agent.js',
    './protocol/*': './protocol/*.js',
  },
  dependencies,
};

await writeFile(new URL('package.json', dist), `${JSON.stringify(published, null, 2)}\n`);
for (const folder of ['desktop-agent/samples/', 'desktop-agent/templates/'])
  await cp(new URL(folder, root), new URL(folder, dist), { recursive: true });
for (const file of ['README.md', 'SECURITY.md', 'LICENSE', 'CHANGELOG.md'])
  await copyFile(new URL(file, root), new URL(file, dist));
await chmod(new URL('graph-relay.js', dist), 0o755);
