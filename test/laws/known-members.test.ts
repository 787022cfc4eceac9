/** The tables of known members against the types of the official SDKs: what is in neither is bounded by the most that a model can cost. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DIALECTS, hostedToolOfType, MEDIA_TYPES, objectKindsOf, UNKNOWN_TOOL } from '../../src/rules/index.ts';
import { CREATING, unknownMembers } from './news.ts';

describe('known members', () => {
  for (const dialect of DIALECTS)
    test(`${dialect}: every member of the SDK's request type is known, or is meant to be dear`, () => {
      assert.deepEqual(unknownMembers(dialect), []);
    });

  test('whatever is tagged as media or as a tool has a bound', () => {
    for (const dialect of DIALECTS)
      for (const { tags } of Object.values(objectKindsOf(CREATING[dialect], dialect)))
        for (const [type, tag] of Object.entries(tags)) {
          if (tag === 'media') assert.ok(MEDIA_TYPES.has(type) || type === 'image_generation_call', type);
          if (tag === 'tool') assert.notEqual(hostedToolOfType(type), UNKNOWN_TOOL, type);
        }
  });
});
