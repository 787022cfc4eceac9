/** Free-text tools on upstreams that only know JSON arguments: the text travels as `{"input": "..."}` and the grammar as words. */
import type { HubTool, JsonObject } from '../hub/types.ts';
import { maybeString, parseArgs } from '../wire/read.ts';

export const FREE_TEXT_SCHEMA: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The complete input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};

/** A grammar can only be described there, not enforced. */
export function freeTextDescription({ description, grammar }: HubTool & { kind: 'custom' }): string | undefined {
  const rule = grammar && `The input must follow this ${grammar.syntax} grammar:\n${grammar.definition}`;
  return [description, rule].filter((text) => text).join('\n\n') || undefined;
}

export const wrapInput = (text: string): string => JSON.stringify({ input: text });

/** The text of finished arguments; anything that is not of the agreed form is handed on as it is. */
export const unwrapInput = (args: string): string => maybeString(parseArgs(args).input) ?? args;
