import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hubRequest } from '../../../test/support/dialects/codecs.ts';
import { runs } from '../../../test/support/properties.ts';
import type { Dialect } from '../../rules/index.ts';
import type { HubItem, HubTool, ToolName } from '../hub/types.ts';
import { mapToolNames } from './names.ts';

const VALID: Readonly<Record<Dialect, RegExp>> = {
  messages: /^[a-zA-Z0-9_-]{1,64}$/,
  chat: /^[a-zA-Z0-9_-]{1,64}$/,
  responses: /^[a-zA-Z0-9_-]{1,64}$/,
  generate: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/,
};

const fn = (name: string, namespace?: string): HubTool => ({
  kind: 'function',
  name,
  schema: {},
  ...(namespace !== undefined && { namespace }),
});
const call = (name: string): HubItem => ({ kind: 'tool_call', callId: 'c', name, form: 'function', args: '{}' });
const mapTools = (dialect: Dialect, ...tools: HubTool[]) => mapToolNames(hubRequest({ tools }), dialect);

test('mapToolNames keeps names that fit and records no original', () => {
  const names = mapTools('chat', fn('read_file'), fn('list-files'));
  assert.deepEqual(
    ['read_file', 'list-files'].map((name) => names.toWire({ name })),
    ['read_file', 'list-files'],
  );
  assert.equal(names.originals.size, 0);
});

test('mapToolNames replaces invalid characters and records the original', () => {
  const names = mapTools('chat', fn('read.file'), fn('read', 'fs'));
  assert.equal(names.toWire({ name: 'read.file' }), 'read_file');
  assert.equal(names.toWire({ name: 'read', namespace: 'fs' }), 'fs__read');
  assert.deepEqual(
    [...names.originals],
    [
      ['read_file', { name: 'read.file' }],
      ['fs__read', { name: 'read', namespace: 'fs' }],
    ],
  );
});

test('mapToolNames reserves a name that fits when a tool before it would become the same', () => {
  const names = mapTools('chat', fn('read.file'), fn('read_file'));
  assert.equal(names.toWire({ name: 'read_file' }), 'read_file');
  assert.match(names.toWire({ name: 'read.file' }), /^read_file_[0-9a-f]{8}$/);
});

test('mapToolNames reserves names that occur only in calls of the history', () => {
  const names = mapToolNames(hubRequest({ tools: [fn('read.file')], items: [call('read_file')] }), 'chat');
  assert.equal(names.toWire({ name: 'read_file' }), 'read_file');
  assert.notEqual(names.toWire({ name: 'read.file' }), 'read_file');
});

test('mapToolNames separates two invalid names that would become the same', () => {
  const names = mapTools('chat', fn('a.b'), fn('a:b'));
  assert.equal(names.toWire({ name: 'a.b' }), 'a_b');
  assert.match(names.toWire({ name: 'a:b' }), /^a_b_[0-9a-f]{8}$/);
});

test('mapToolNames shortens long names with a hash, so that a shared prefix stays distinct', () => {
  const long = 'x'.repeat(70);
  const names = mapTools('chat', fn(`${long}1`), fn(`${long}2`));
  const [one, two] = [names.toWire({ name: `${long}1` }), names.toWire({ name: `${long}2` })];
  assert.equal(one.length, 64);
  assert.notEqual(one, two);
});

test('mapToolNames covers tool choice and tools added in the conversation', () => {
  const items: HubItem[] = [{ kind: 'tool_change', add: [fn('late tool')] }];
  const toolChoice = { kind: 'named', name: 'chosen tool' } as const;
  const names = mapToolNames(hubRequest({ items, toolChoice }), 'chat');
  assert.deepEqual([...names.originals.keys()].sort(), ['chosen_tool', 'late_tool']);
});

test('mapToolNames is a bijection onto valid names for arbitrary tools', () => {
  const tool: fc.Arbitrary<ToolName> = fc.record(
    {
      name: fc.oneof(fc.constantFrom('a_b', 'a.b', 'a:b', 'ns__a', 'a', '1a'), fc.string({ maxLength: 140 })),
      namespace: fc.constantFrom('ns', 'n.s'),
    },
    { requiredKeys: ['name'] },
  );
  const dialects = fc.constantFrom<Dialect>('messages', 'chat', 'responses', 'generate');
  fc.assert(
    fc.property(fc.array(tool, { maxLength: 8 }), dialects, (tools, dialect) => {
      const names = mapTools(dialect, ...tools.map(({ name, namespace }) => fn(name, namespace)));
      const distinct = new Map(tools.map((one) => [JSON.stringify([one.namespace, one.name]), one]));
      const wire = [...distinct.values()].map((one) => names.toWire(one));
      assert.equal(new Set(wire).size, wire.length, `two tools share a name: ${wire.join(' ')}`);
      for (const [n, one] of [...distinct.values()].entries()) {
        assert.match(wire[n] ?? '', VALID[dialect]);
        assert.deepEqual(names.originals.get(wire[n] ?? '') ?? { name: wire[n] }, { ...one });
      }
    }),
    { numRuns: runs(300) },
  );
});
