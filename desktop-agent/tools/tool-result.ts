/**
 * What a tool gave, as the JSON value that its Graph gets.
 *
 * Owns the mapping and its bounds. Structured content as it is; text as one text; anything else as a placeholder that
 * says what it was, since bytes of a picture or a sound are of no use to a Graph.
 */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { isDeeperThan, repairedJson } from '../../protocol/json-text.ts';
import { ERROR_CHARS, JSON_DEPTH } from '../../protocol/limits.ts';
import { cleanText } from '../../protocol/text.ts';

/** A call failed, or what it gave cannot be taken. Its message is for the Graph and its owner, as it is. */
export class ToolFailure extends Error {}

export interface ResultRules {
  readonly resultChars: number;
  /** Clears an error's text of secrets. A result is not touched. */
  readonly clear: (text: string) => string;
}

/** Throws a {@link ToolFailure} when the tool failed, or gave too much. */
export function toolValue(tool: string, result: CallToolResult, { resultChars, clear }: ResultRules): unknown {
  const value = result.structuredContent ?? contentValue(result.content ?? []);
  if (result.isError === true) throw new ToolFailure(clear(failureText(value)));
  if (isDeeperThan(value, JSON_DEPTH)) throw new ToolFailure(`${tool} gave a result of more than ${JSON_DEPTH} levels`);
  const json = repairedJson(JSON.stringify(value));
  if (json.length > resultChars) {
    throw new ToolFailure(
      `${tool} gave ${json.length} characters of JSON, and ${resultChars} are taken: ask it for less, such as a part or a page`,
    );
  }
  return JSON.parse(json);
}

function failureText(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
  return cleanText(text.trim(), ERROR_CHARS) || 'the tool failed without a reason';
}

/** Texts alone are one text; with anything else among them it is a list, in the order that they have. */
function contentValue(content: readonly ContentBlock[]): unknown {
  if (content.length === 0) return null;
  const parts = content.map(partOf);
  return parts.every((part) => typeof part === 'string') ? parts.join('\n') : parts;
}

function partOf(block: ContentBlock): string | Readonly<Record<string, unknown>> {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return { type: block.type, mime_type: block.mimeType, bytes: bytesIn(block.data) };
    case 'resource_link':
      return { type: block.type, uri: block.uri, name: block.name, mime_type: block.mimeType ?? null };
    case 'resource': {
      const { uri, mimeType: mime_type = null, ...rest } = block.resource;
      const inside = 'text' in rest ? { text: rest.text } : { bytes: bytesIn(rest.blob) };
      return { type: block.type, uri, mime_type, ...inside };
    }
    default:
      return { type: String((block as { type: unknown }).type) };
  }
}

/** Of base64 text. */
function bytesIn(data: string): number {
  return Buffer.byteLength(data, 'base64');
}
