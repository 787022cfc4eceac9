/** The tables of known members against the types of the official SDKs: what is in neither is bounded by the most that a model can cost. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StepBudget } from '../../src/core/index.ts';
import { findingsFor, scanRequest } from '../../src/gateway/request-scan.ts';
import {
  DIALECTS,
  type Dialect,
  hostedToolOfType,
  type InferenceOperation,
  MEDIA_TYPES,
  objectKindsOf,
  UNKNOWN_TOOL,
} from '../../src/rules/index.ts';
import { requestFields } from './request-fields.ts';

const OPERATIONS = {
  chat: 'chat.create',
  messages: 'messages.create',
  responses: 'responses.create',
  generate: 'generate.create',
} as const satisfies Record<Dialect, InferenceOperation>;

/** Members of the types that are meant to be dear, because nothing here bounds what they can cost. */
const DEAR: Readonly<Record<Dialect, RegExp>> = {
  chat: /^$/,
  messages: /^fallbacks\.speed/,
  responses: /^reasoning\.mode|prompt_cache_options\.prewarm/,
  generate:
    /mediaResolution\.numTokens|modelSelectionConfig|routingConfig\.autoMode|responseFormat\.video|automaticContinuation|continuationToken|generationOutputConfig|modelArmorConfig/,
};

/** `requestFields` adds it to every object of the type `mcp`. */
const isAdded = (found: string): boolean => found === 'tool_choice.require_approval';

const unknownIn = (dialect: Dialect, body: unknown): string | undefined => {
  const operation = OPERATIONS[dialect];
  const findings = findingsFor(operation, dialect, new StepBudget());
  scanRequest(Buffer.from(JSON.stringify(body)), new Set(), { operation, findings });
  return findings.unknown;
};

describe('known members', () => {
  for (const dialect of DIALECTS)
    test(`${dialect}: every member of the SDK's request type is known, or is meant to be dear`, () => {
      const unknown = requestFields(dialect).flatMap(({ label, path, body }) => {
        const found = unknownIn(dialect, body);
        return found === undefined || DEAR[dialect].test(path) || isAdded(found) ? [] : [`${label}: ${found}`];
      });
      assert.deepEqual(unknown, []);
    });

  test('whatever is tagged as media or as a tool has a bound', () => {
    for (const dialect of DIALECTS)
      for (const { tags } of Object.values(objectKindsOf(OPERATIONS[dialect], dialect)))
        for (const [type, tag] of Object.entries(tags)) {
          if (tag === 'media') assert.ok(MEDIA_TYPES.has(type) || type === 'image_generation_call', type);
          if (tag === 'tool') assert.notEqual(hostedToolOfType(type), UNKNOWN_TOOL, type);
        }
  });
});
