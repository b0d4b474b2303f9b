/**
 * Version 1 of the desktop's contract as plain JSON over HTTP: three routes, for a desktop without tRPC.
 *
 * Owns the way from a request to a call and back: token, version, body, schema, and errors as
 * `{error: {code, message}}` with the status of `protocol/errors.ts`. What the calls do is in `../plain-calls.ts`.
 */
import type { z } from 'zod';
import type { CallContext } from '../../protocol/api.ts';
import { asRelayError, ERRORS, RelayError, withoutDisk } from '../../protocol/errors.ts';
import { BODY_BYTES } from '../../protocol/limits.ts';
import {
  PLAIN_PATH,
  plainCompleteInputSchema,
  plainControlInputSchema,
  plainSyncInputSchema,
} from '../../protocol/plain-contract.ts';
import type { Log } from '../../protocol/ports.ts';
import { describeInputError } from '../../protocol/trpc-errors.ts';
import { PLAIN_VERSION, PROTOCOL_HEADER, refuseUnservedVersion } from '../../protocol/versions.ts';
import { readBody } from '../body.ts';
import { describeInexact, type ParsedJson, parseExactly } from '../exact-json.ts';
import { challenging, json, withVersions } from '../http-answers.ts';
import type { PlainCalls } from '../plain-calls.ts';

export interface PlainRoutesOptions {
  readonly calls: PlainCalls;
  /** The desktop that sent the request. Throws `unauthorized` when it is none of ours. */
  readonly authenticate: (request: Request, address: string) => { readonly desktopId: string };
  readonly log: Log;
}

interface Sent {
  readonly request: Request;
  readonly address: string;
}

type Route = (body: ParsedJson, context: CallContext) => Promise<object>;

/** Answers the request, or null when its path is none of these routes. `address`: where it comes from. */
export type PlainRoutes = (request: Request, address: string) => Promise<Response> | null;

const SERVED = [PLAIN_VERSION];

export function createPlainRoutes({ calls, authenticate, log }: PlainRoutesOptions): PlainRoutes {
  const routes = new Map<string, Route>([
    [`${PLAIN_PATH}/sync`, ({ json }, context) => calls.sync(parsed(plainSyncInputSchema, json), context)],
    [`${PLAIN_PATH}/control`, ({ json }, context) => calls.control(parsed(plainControlInputSchema, json), context)],
    [`${PLAIN_PATH}/complete`, complete],
  ]);

  async function complete({ json, inexact }: ParsedJson, context: CallContext): Promise<object> {
    const { success, data, error } = plainCompleteInputSchema.safeParse(json);
    const [changed] = inexact;
    if (success && changed === undefined) return calls.complete(data, context);
    const problem = changed === undefined ? describeInputError(error) : describeInexact(changed);
    await calls.unreadableCompletion(json, problem, context);
    throw new RelayError('invalid-input', problem);
  }

  async function answer({ request, address }: Sent, route: Route): Promise<Response> {
    if (request.method !== 'POST') return refuseMethod();
    const { desktopId } = authenticate(request, address);
    refuseUnservedVersion(request.headers.get(PROTOCOL_HEADER), SERVED);
    const body = parseJson(await readBody(request, BODY_BYTES));
    return json(200, await route(body, { desktopId, transport: 'plain', signal: request.signal }));
  }

  async function serve(sent: Sent, route: Route): Promise<Response> {
    try {
      return withVersions(await answer(sent, route), SERVED);
    } catch (error) {
      const relay = withoutDisk(asRelayError(error));
      if (relay.code === 'internal') log.error('relay.fault', { call: new URL(sent.request.url).pathname, err: error });
      const answer = json(ERRORS[relay.code].http, errorBody(relay), relay.retryAfterSeconds);
      return withVersions(challenging(answer), SERVED);
    }
  }

  return (request, address) => {
    const route = routes.get(new URL(request.url).pathname);
    return route === undefined ? null : serve({ request, address }, route);
  };
}

function errorBody({ code, message }: { code: string; message: string }): object {
  return { error: { code, message } };
}

function refuseMethod(): Response {
  const message = 'Calls are posted as JSON. GET /openapi.json describes them.';
  const response = json(405, errorBody({ code: 'invalid-input', message }));
  response.headers.set('allow', 'POST');
  return response;
}

function parsed<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  throw new RelayError('invalid-input', describeInputError(error));
}

function parseJson(bytes: Uint8Array): ParsedJson {
  try {
    return parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new RelayError('invalid-input', 'The request body is not JSON in UTF-8.', { cause });
  }
}
