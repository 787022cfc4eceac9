import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../../test/support/properties.ts';
import type { HubUsage } from '../hub/types.ts';
import { decodeUsage, encodeUsage, mergeUsage } from './usage.ts';

describe('messages usage', () => {
  it('splits hub input into fresh, cache write and cache read tokens', () => {
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = encodeUsage({
      input: 57,
      cacheRead: 10,
      cacheWrite: 0,
      output: 50,
    });
    assert.deepEqual([input_tokens, cache_read_input_tokens, cache_creation_input_tokens], [47, 10, 0]);
  });

  it('clamps input at zero and one-hour cache writes at all cache writes', () => {
    const wire = encodeUsage({ input: 5, cacheRead: 10, cacheWrite: 3, cacheWriteLong: 9, output: 1 });
    assert.equal(wire.input_tokens, 0);
    assert.deepEqual(wire.cache_creation, { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 3 });
  });

  it('maps service tiers and counts searches that the upstream did not report', () => {
    const wire = encodeUsage({ input: 0, cacheRead: 0, cacheWrite: 0, output: 0, tier: 'default' }, 2);
    assert.equal(wire.service_tier, 'standard');
    assert.deepEqual(wire.server_tool_use, { web_search_requests: 2, web_fetch_requests: 0 });
  });

  it('decodes encoded usage to the same counts', () => {
    const count = fc.nat(1_000_000);
    fc.assert(
      fc.property(count, count, count, count, count, (fresh, read, write, output, reasoning) => {
        const usage: HubUsage = { input: fresh + read + write, cacheRead: read, cacheWrite: write, output, reasoning };
        // Encoded usage always has a tier; `standard` is the default.
        assert.deepEqual(decodeUsage(mergeUsage({}, encodeUsage(usage)), true), { ...usage, tier: 'standard' });
      }),
      { numRuns: runs(100) },
    );
  });
});
