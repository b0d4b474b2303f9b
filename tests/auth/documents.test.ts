import { createServer as createHttpServer, request as httpRequest } from 'node:http';
import { createServer } from 'node:net';
import t from 'tap';
import { createDocumentFetch, isPublicAddress } from '../../server/auth/document-fetch.ts';
import {
  authorizePath,
  call,
  connect,
  exchange,
  newOwner,
  openSite,
  REDIRECT,
  restarted,
  type Site,
  type Tokens,
} from './support.ts';

const ID = 'https://client.example/oauth/metadata.json';
const DOCUMENT = { client_id: ID, client_name: 'Documented', redirect_uris: [REDIRECT, 'https://client.example/cb'] };
const VERIFIER = 'v'.repeat(43);
const AUTHORIZE = authorizePath({ client_id: ID, verifier: VERIFIER });

t.test('a client that is described by a document at its id needs no registration', async (t) => {
  const site = await openSite(t, { documents: { [ID]: { ...DOCUMENT, token_endpoint_auth_method: 'none' } } });
  const browser = await newOwner(site);
  const client = { client_id: ID, verifier: VERIFIER };
  const asked = await browser.open(authorizePath(client));
  t.match(asked.text, /Connect Documented\?/);
  t.match(asked.text, /It is described at<\/dt><dd>https:\/\/client\.example\/oauth\/metadata\.json/);
  const landed = await browser.send(asked, 'allow', { new_project: 'home' });
  const response = await exchange(site, client, { code: landed.url.searchParams.get('code')! });
  t.match((await response.json()) as Tokens, { access_token: String, refresh_token: String });
});

t.test(
  'a document that prefers a method which is not served, and lists none, is taken as a public client',
  async (t) => {
    const choices = {
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
    };
    const site = await openSite(t, { documents: { [ID]: { ...DOCUMENT, ...choices } } });
    const browser = await newOwner(site);
    t.match((await browser.open(authorizePath({ client_id: ID, verifier: VERIFIER }))).text, /Connect Documented\?/);
  },
);

t.test('a document that is not its own, has a secret, or leads somewhere bad is refused', async (t) => {
  const bad: Record<string, unknown>[] = [
    { ...DOCUMENT, client_id: 'https://other.example/metadata.json' },
    { ...DOCUMENT, client_secret: 'x' },
    { ...DOCUMENT, token_endpoint_auth_method: 'client_secret_post' },
    { ...DOCUMENT, redirect_uris: ['javascript:alert(1)'] },
    { ...DOCUMENT, redirect_uris: ['http://client.example/cb'] },
    { ...DOCUMENT, redirect_uris: [] },
    { ...DOCUMENT, filler: 'x'.repeat(30_000) },
  ];
  for (const document of bad) {
    const site = await openSite(t, { documents: { [ID]: document } });
    const browser = await newOwner(site);
    const { response, url, text } = await browser.open(AUTHORIZE);
    t.equal(response.status, 400, JSON.stringify(document).slice(0, 150));
    t.equal(url.origin, site.url);
    t.match(text, /<h1>The description of this client cannot be used/);
    t.match(text, /Only the maker of the client can put it right/);
    t.ok(text.includes(`<dd>${ID}</dd>`));
    t.notMatch(text, /redirect_uris|secret|filler|other\.example/, 'nothing of the document is shown');
    t.match(refusals(site), [{ client_id: ID, fault: 'unusable', problem: /\.$/ }]);
  }
});

t.test('who meets a description that cannot be fetched reads what happened, where, and what to do', async (t) => {
  const answers = [new Error('connect ECONNREFUSED 10.1.2.3:443'), undefined];
  for (const answer of answers) {
    const documents: Record<string, unknown> = { [ID]: answer };
    const site = await openSite(t, { documents });
    const browser = await newOwner(site);
    const { response, text } = await browser.open(AUTHORIZE);
    t.equal(response.status, 400);
    t.match(text, /<h1>The description of this client could not be fetched/);
    t.ok(text.includes(`<dd>${ID}</dd>`), 'the address');
    for (const way of [/Try again in a minute/, /tell the maker of the client/, /dynamic client registration/])
      t.match(text, way);
    t.notMatch(text, /ECONNREFUSED|10\.1\.2\.3|404|status/, 'nothing of what the network said');
    t.match(refusals(site), [{ client_id: ID, fault: 'unreachable', problem: /ECONNREFUSED 10.1.2.3|status 404/ }]);
    t.strictSame(site.fetched, [ID], 'asked for once');
    documents[ID] = DOCUMENT;
    t.match((await browser.open(AUTHORIZE)).text, /Connect Documented\?/, 'the same page, when the fault is over');
  }
});

t.test('an address that a stranger made up is shown as text, and not at any length', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const id = `https://client.example/"><b>${'x'.repeat(500)}`;
  const { text } = await browser.open(authorizePath({ client_id: encodeURI(id), verifier: VERIFIER }));
  t.match(text, /<dd>https:\/\/client\.example\/%22%3E%3Cb%3Ex{100,300}…<\/dd>/);
  const raw = await browser.open(authorizePath({ client_id: id, verifier: VERIFIER }));
  t.notMatch(raw.text, /<b>/);
});

t.test('a description that cannot be fetched in the middle of a consent is told in the same words', async (t) => {
  const documents: Record<string, unknown> = { [ID]: DOCUMENT };
  const before = await openSite(t, { documents });
  const browser = await newOwner(before);
  const asked = await browser.open(AUTHORIZE);
  const site = await restarted(before);
  browser.site = site;
  documents[ID] = new Error('connect ECONNREFUSED 10.1.2.3:443');
  const failed = await browser.open(asked.url.href);
  t.equal(failed.response.status, 400);
  t.match(failed.text, /<h1>The description of this client could not be fetched/);
  t.notMatch(failed.text, /ECONNREFUSED/);
  documents[ID] = DOCUMENT;
  const again = await browser.open(asked.url.href);
  t.match((await browser.send(again, 'allow', { new_project: 'home' })).url.searchParams.get('code'), /./);
});

function refusals({ lines }: Site) {
  return lines.filter(({ event }) => event === 'oauth.document-refused').map(({ fields }) => fields);
}

t.test('a relay that takes no documents says so, fetches nothing, and lets clients register', async (t) => {
  const site = await openSite(t, { documents: null });
  const browser = await newOwner(site);
  const metadata = await (await call(site, '/.well-known/oauth-authorization-server')).json();
  t.match(metadata, { client_id_metadata_document_supported: false });
  const { response, text } = await browser.open(AUTHORIZE);
  t.equal(response.status, 400);
  t.match(text, /<h1>This relay does not fetch descriptions of clients/);
  t.ok(text.includes(`<dd>${ID}</dd>`));
  t.same(site.fetched, []);
  await connect(site, browser);
});

t.test('documents are fetched so often only', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  for (let count = 0; count < 15; count++) {
    await browser.open(authorizePath({ client_id: `https://host-${count}.example/x`, verifier: VERIFIER }));
  }
  t.equal(site.fetched.length, 10);
  const { text } = await browser.open(authorizePath({ client_id: 'https://host-99.example/x', verifier: VERIFIER }));
  t.match(text, /<h1>Too many descriptions of clients were asked for/);
  t.match(text, /Try again in a minute/);
});

t.test('only addresses of the public internet are public', async (t) => {
  const refused = [
    ...['127.0.0.1', '127.8.8.8', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254'],
    ...['100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255', '192.0.2.1', '198.18.0.1', '203.0.113.9'],
    ...['::1', '::', 'fe80::1', 'fd00::1', 'fc00::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1'],
    ...['64:ff9b::7f00:1', '2002:7f00:1::', '2001:db8::1', '2001::1', '3fff::1', '::127.0.0.1', 'localhost', ''],
  ];
  for (const address of refused) t.equal(isPublicAddress(address), false, address);
  for (const address of ['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1']) {
    t.equal(isPublicAddress(address), true, address);
  }
});

t.test('the fetch of a document reaches nothing on this machine or its network', async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const fetchDocument = createDocumentFetch();
  const asked: string[] = [];
  const lying = createDocumentFetch({
    lookup: (hostname, _options, done) => {
      asked.push(hostname);
      done(
        null,
        [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ] as never,
        0,
      );
    },
  });
  const signal = AbortSignal.timeout(30_000);
  const literal = [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '017700000001',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '10.0.0.1',
    '169.254.169.254',
  ];
  for (const host of literal)
    await t.rejects(fetchDocument(`https://${host}/x`, { signal }), /no place in the public/, host);
  for (const host of [`127.0.0.1:${port}`, `client.example:${port}`]) {
    await t.rejects(fetchDocument(`https://${host}/x`, { signal }), /no place in the public/, host);
  }
  await t.rejects(fetchDocument('https://localhost/x', { signal }), /no place in the public/, 'by its usual name');
  await t.rejects(fetchDocument('http://client.example/x', { signal }), /no place in the public/, 'not in the open');
  await t.rejects(lying('https://client.example/x', { signal }), /no place in the public/, 'a name that leads here');
  t.strictSame(asked, ['client.example']);
  t.equal(connections, 0);
});

t.test('a document is read whole; a redirect and an error are no documents', async (t) => {
  const paths: string[] = [];
  const server = createHttpServer((request, response) => {
    paths.push(request.url!);
    if (request.url === '/moved') response.writeHead(302, { location: '/document' }).end();
    else if (request.url === '/gone') response.writeHead(404).end('no');
    else response.writeHead(200, { 'cache-control': 'max-age=60' }).end('{"client_id":"x"}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const request = (url: URL) => httpRequest({ host: '127.0.0.1', port, path: url.pathname });
  const fetchDocument = createDocumentFetch({ request });
  const found = await fetchDocument('https://client.example/document', {});
  t.strictSame(await found.json(), { client_id: 'x' });
  t.equal(found.headers.get('cache-control'), 'max-age=60');
  for (const path of ['/moved', '/gone'])
    t.equal((await fetchDocument(`https://client.example${path}`, {})).status, 502);
  t.strictSame(paths, ['/document', '/moved', '/gone']);
});
