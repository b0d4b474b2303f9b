/**
 * The OpenAPI document of the plain-JSON routes, made from the schemas that check their input, and written nowhere.
 *
 * Owns the texts for people. Must not change a schema: tRPC checks with the same objects.
 */
import { z } from 'zod';
import { ERRORS } from '../../protocol/errors.ts';
import {
  PLAIN_PATH,
  plainCompleteAnswerSchema,
  plainCompleteInputSchema,
  plainControlAnswerSchema,
  plainControlInputSchema,
  plainSyncAnswerSchema,
  plainSyncInputSchema,
} from '../../protocol/plain-contract.ts';
import { PLAIN_VERSION } from '../../protocol/versions.ts';

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly answer: z.ZodType;
}

const OPERATIONS: readonly Operation[] = [
  {
    id: 'sync',
    summary: 'Share the sessions of one project, take what is queued for it',
    description:
      'Post it for each enabled project every 20 seconds and after a change of sharing, not while commands of the pass before still run. Run the commands one after another, in their order. Other projects stay as they were; an empty list of sessions ends the sharing of this one.',
    input: plainSyncInputSchema,
    answer: plainSyncAnswerSchema,
  },
  {
    id: 'control',
    summary: 'Ask whether a command may run, or must stop',
    description:
      'Post it every 3 seconds while a command runs, and best also once before it is run. The first one counts as the start. With "cancel": true the command must not start, or has to stop; complete a stopped one as cancelled.',
    input: plainControlInputSchema,
    answer: plainControlAnswerSchema,
  },
  {
    id: 'complete',
    summary: 'Report how a command ended',
    description:
      'Write it to disk before posting it, and post it again until the answer is 200 or an error other than 401, 429 and 5xx. Posting it twice changes nothing. JSON.stringify of {execution_id, status, result, total_tokens, reported_cost} may have 100,000 characters; with a longer one post {execution_id, status, result_truncated: true} instead.',
    input: plainCompleteInputSchema,
    answer: plainCompleteAnswerSchema,
  },
];

export function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: "Graph Relay: a desktop's plain contract",
      version: String(PLAIN_VERSION),
      description: 'Everything is asked by the desktop; nobody connects to it.',
    },
    security: [{ desktopToken: [] }],
    paths: Object.fromEntries(OPERATIONS.map((operation) => [`${PLAIN_PATH}/${operation.id}`, pathOf(operation)])),
    components: {
      securitySchemes: { desktopToken: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR_SCHEMA },
    },
  };
}

function pathOf({ id, summary, description, input, answer }: Operation): object {
  return {
    post: {
      operationId: id,
      summary,
      description,
      requestBody: { required: true, content: jsonContent(schemaOf(input, 'input')) },
      responses: {
        200: { description: 'Done.', content: jsonContent(schemaOf(answer, 'output')) },
        default: {
          description: 'Refused. Decide by the code: 429 and 503 come with retry-after.',
          content: jsonContent({ $ref: '#/components/schemas/Error' }),
        },
      },
    },
  };
}

function jsonContent(schema: object): object {
  return { 'application/json': { schema } };
}

/** Checks beyond JSON Schema (depth, characters) are left out; the texts of refusals name them. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return described;
}

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: { code: { type: 'string', enum: Object.keys(ERRORS) }, message: { type: 'string' } },
    },
  },
};
