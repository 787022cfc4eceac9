import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../../test/support/properties.ts';
import type { HubUsage } from '../hub/types.ts';
import { decodeUsage, encodeUsage, mergeUsage } from './usage.ts';

describe('usage in the messages dialect', () => {
  it('splits the hub’s input into fresh, written and read', () => {
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = encodeUsage({
      input: 57,
      cacheRead: 10,
      cacheWrite: 0,
      output: 50,
    });
    assert.deepEqual([input_tokens, cache_read_input_tokens, cache_creation_input_tokens], [47, 10, 0]);
  });

  it('never goes below zero and never tells more long writes than writes', () => {
    const told = encodeUsage({ input: 5, cacheRead: 10, cacheWrite: 3, cacheWriteLong: 9, output: 1 });
    assert.equal(told.input_tokens, 0);
    assert.deepEqual(told.cache_creation, { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 3 });
  });

  it('translates tiers and counts searches that the upstream did not count', () => {
    const told = encodeUsage({ input: 0, cacheRead: 0, cacheWrite: 0, output: 0, tier: 'default' }, 2);
    assert.equal(told.service_tier, 'standard');
    assert.deepEqual(told.server_tool_use, { web_search_requests: 2, web_fetch_requests: 0 });
  });

  it('comes back as it went out', () => {
    const count = fc.nat(1_000_000);
    fc.assert(
      fc.property(count, count, count, count, count, (fresh, read, write, output, reasoning) => {
        const usage: HubUsage = { input: fresh + read + write, cacheRead: read, cacheWrite: write, output, reasoning };
        // An answer always names its tier; what an upstream left unsaid is the usual one.
        assert.deepEqual(decodeUsage(mergeUsage({}, encodeUsage(usage)), true), { ...usage, tier: 'standard' });
      }),
      { numRuns: runs(100) },
    );
  });
});
