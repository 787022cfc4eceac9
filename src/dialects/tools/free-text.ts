/** Free-text (custom) tools for upstreams with JSON arguments only: the text travels as `{"input": "..."}`. */
import type { HubTool, JsonObject } from '../hub/types.ts';
import { maybeString, parseArgs } from '../wire/read.ts';

export const FREE_TEXT_SCHEMA: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The complete input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

/** Appends the grammar to the description, because these upstreams cannot enforce one. */
export function freeTextDescription({ description, grammar }: HubTool & { kind: 'custom' }): string | undefined {
  const rule = grammar && `The input must follow this ${grammar.syntax} grammar:\n${grammar.definition}`;
  return [description, rule].filter((text) => text).join('\n\n') || undefined;
}

export const wrapInput = (text: string): string => JSON.stringify({ input: text });

/** Returns the text inside complete arguments; arguments of any other form stay as they are. */
export const unwrapInput = (args: string): string => maybeString(parseArgs(args).input) ?? args;
