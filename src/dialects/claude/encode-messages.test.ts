import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  call,
  encode,
  functionTool,
  message,
  result,
  target,
  text,
  textBlock,
  turns,
} from '../../../test/support/dialects/messages.ts';
import { runs } from '../../../test/support/properties.ts';
import type { HubItem, HubPart, HubTool, JsonObject } from '../hub/types.ts';

describe('messages conversation encoder', () => {
  it('puts results directly after their calls, in call order and before any text', () => {
    const items = [
      message('user', 'Go'),
      message('assistant', 'Looking.'),
      call('a', '{"q":1}'),
      call('b'),
      message('user', 'Hurry'),
      result('b', 'B'),
      result('a', 'A'),
    ];
    assert.deepEqual(turns(items), [
      { role: 'user', content: [textBlock('Go')] },
      {
        role: 'assistant',
        content: [
          textBlock('Looking.'),
          { type: 'tool_use', id: 'a', name: 'find', input: { q: 1 } },
          { type: 'tool_use', id: 'b', name: 'find', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [textBlock('A')] },
          { type: 'tool_result', tool_use_id: 'b', content: [textBlock('B')] },
          textBlock('Hurry'),
        ],
      },
    ]);
  });

  it('adds an error result to a call without one', () => {
    const [, , resultTurn] = turns([message('user', 'Go'), call('a'), message('user', 'Well?')]);
    assert.deepEqual(resultTurn?.content, [
      {
        type: 'tool_result',
        tool_use_id: 'a',
        is_error: true,
        content: [textBlock('No output was recorded for this call.')],
      },
      textBlock('Well?'),
    ]);
  });

  it('rejects a result without a call with the message that clients match on', () => {
    assert.throws(() => turns([message('user', 'Go'), result('ghost', 'x')]), {
      code: 'invalid_request',
      message: 'No tool call found for function call output with call_id ghost.',
    });
  });

  it('keeps sequential calls in separate turns', () => {
    const roles = turns([message('user', 'Go'), call('a'), result('a', '1'), call('b'), result('b', '2')]).map(
      (turn) => turn.role,
    );
    assert.deepEqual(roles, ['user', 'assistant', 'user', 'assistant', 'user']);
  });

  it('starts with the user, merges adjacent turns and drops empty content', () => {
    const made = turns([
      message('assistant', 'Hello'),
      message('assistant', ''),
      message('user', ' '),
      message('user', 'a'),
      message('user', 'b'),
    ]);
    assert.deepEqual(made, [
      { role: 'user', content: [textBlock('.')] },
      { role: 'assistant', content: [textBlock('Hello')] },
      { role: 'user', content: [textBlock('a'), textBlock('b')] },
    ]);
  });

  it('keeps later system messages in position, as system turns where allowed and else as tagged text', () => {
    const items = [
      message('user', 'a'),
      message('system', 'Be brief.'),
      message('assistant', 'b'),
      message('system', 'x'),
      message('user', 'c'),
    ];
    assert.deepEqual(
      turns(items, target({ midSystem: true })).map(({ role, content }) => [role, content.map((block) => block.text)]),
      [
        ['user', ['a']],
        ['system', ['Be brief.']],
        ['assistant', ['b']],
        ['user', ['<system>x</system>', 'c']],
      ],
    );
    assert.deepEqual(turns(items)[0]?.content, [textBlock('a'), textBlock('<system>Be brief.</system>')]);
  });

  it('trims the end of a prefill', () => {
    const items = [message('user', 'a'), message('assistant', 'Once upon \n')];
    assert.deepEqual(turns(items, target({ prefill: true }))[1]?.content, [textBlock('Once upon')]);
  });

  it('accepts a paused hosted call as the last turn without prefill support', () => {
    const raw = [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }];
    const paused: HubItem = {
      kind: 'server_call',
      id: 'srvtoolu_1',
      tool: 'web_search',
      issuer: 'messages',
      status: 'in_progress',
      raw,
    };
    assert.deepEqual(turns([message('user', 'a'), paused])[1]?.content, raw);
  });

  it('restores reasoning of this provider and account only, and never sends other reasoning as text', () => {
    const own = { issuer: 'messages', kind: 'thinking', data: 'S', lengths: [4] } as const;
    const think = (opaque: object, ...summary: string[]): HubItem =>
      ({ kind: 'reasoning', summary, opaque }) as HubItem;
    const items = [
      message('user', 'a'),
      think(own, 'hmm.'),
      think({ issuer: 'messages', kind: 'redacted', data: 'D' }),
      think({ issuer: 'responses', kind: 'reasoning', id: 'rs', data: 'E' }, 'secret'),
      think({ ...own, account: 'other' }, 'hmm.'),
      think(own, 'edited by the client'),
      { kind: 'reasoning', summary: ['unsigned'] } as const,
      message('assistant', 'ok'),
      think(own, 'hmm.'),
      message('user', 'b'),
    ];
    assert.deepEqual(turns(items, target({}, { account: 'mine' }))[1]?.content, [
      { type: 'thinking', thinking: 'hmm.', signature: 'S' },
      { type: 'redacted_thinking', data: 'D' },
      textBlock('ok'),
    ]);
  });

  it('maps unsupported ids and names to the same values in calls and results', () => {
    const items = [
      message('user', 'a'),
      call('call:1.x', '{}', { name: 'read.file', namespace: 'mcp__files' } as Partial<HubItem>),
      result('call:1.x', 'ok'),
    ];
    const encoded = encode({
      items,
      tools: [functionTool('read.file', { namespace: 'mcp__files' } as Partial<HubTool>)],
    });
    const messages = encoded.body.messages as { content: JsonObject[] }[];
    const [use, toolResult] = [messages[1]?.content[0], messages[2]?.content[0]];
    assert.match(String(use?.id), /^call_[\w-]{24}$/);
    assert.equal(toolResult?.tool_use_id, use?.id);
    assert.equal(use?.name, 'mcp__files__read_file');
    assert.deepEqual(encoded.names.get('mcp__files__read_file'), { name: 'read.file', namespace: 'mcp__files' });
  });

  it('encodes images and files and rejects unsupported media', () => {
    const image = (mime: string): HubPart => ({ kind: 'image', source: { kind: 'base64', mime, data: 'AA==' } });
    const file = (source: (HubPart & { kind: 'file' })['source']): HubPart => ({ kind: 'file', source, title: 'T' });
    const [turn] = turns([
      message(
        'user',
        image('image/jpg'),
        file({ kind: 'base64', mime: 'application/pdf', data: 'JVBE' }),
        file({ kind: 'base64', mime: 'text/markdown', data: Buffer.from('# Hä').toString('base64') }),
        { kind: 'search_result', source: 's', title: 't', texts: ['x'] },
      ),
    ]);
    assert.deepEqual(turn?.content, [
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AA==' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'T' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '# Hä' }, title: 'T' },
      { type: 'search_result', source: 's', title: 't', content: [textBlock('x')] },
    ]);
    const audio: HubPart = { kind: 'audio', source: { kind: 'base64', mime: 'audio/wav', data: '' } };
    assert.throws(() => turns([message('user', audio)]), { code: 'unsupported_parameter' });
    assert.throws(() => turns([message('user', image('image/bmp'))]), { code: 'invalid_value' });
    const foreign = file({ kind: 'file_id', id: 'file-77', issuer: 'responses' });
    assert.throws(() => turns([message('user', foreign)]), { message: /file-77/ });
  });

  it('marks a failed call with is_error only when its result is text', () => {
    const image: HubPart = { kind: 'image', source: { kind: 'url', url: 'https://a.example/i.png' } };
    const failed = (...parts: HubPart[]) =>
      turns([message('user', 'a'), call('c'), { ...result('c', ...parts), isError: true } as HubItem])[2]?.content[0];
    assert.deepEqual(failed(), {
      type: 'tool_result',
      tool_use_id: 'c',
      is_error: true,
      content: [textBlock('The call failed.')],
    });
    assert.equal(failed(text('no'))?.is_error, true);
    assert.equal(failed(image)?.is_error, undefined);
  });

  it('encodes a readable compaction as text and rejects an opaque one of another provider', () => {
    assert.deepEqual(turns([{ kind: 'compaction', text: 'So far.' }, message('user', 'a')])[0]?.content, [
      textBlock('So far.'),
      textBlock('a'),
    ]);
    const opaque = { issuer: 'responses', kind: 'compaction', data: 'x' } as const;
    assert.throws(() => turns([{ kind: 'compaction', opaque }]), { code: 'invalid_request' });
  });

  it('never changes the bytes of earlier turns when history is added', () => {
    const step = fc.constantFrom('user', 'assistant', 'call', 'think');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 6 }), (first, second) => {
        const build = (steps: readonly string[]) => steps.flatMap((kind, n) => stepItems(kind, n));
        const short = turns([...build(first), message('user', 'stop')]);
        const long = turns([...build(first), message('user', 'stop'), ...build([...second]), message('user', 'stop')]);
        const same = short.slice(0, -1).map((turn) => JSON.stringify(turn));
        assert.deepEqual(
          long.slice(0, same.length).map((turn) => JSON.stringify(turn)),
          same,
        );
      }),
      { numRuns: runs(100) },
    );
  });

  it('satisfies the rules of the provider for every history', () => {
    const step = fc.constantFrom('user', 'assistant', 'call', 'open', 'late', 'think', 'system', 'empty');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.boolean(), (steps, midSystem) => {
        const items = [...steps.flatMap((kind, n) => stepItems(kind, n)), message('user', 'stop')];
        assertLegal(turns(items, target({ midSystem })));
      }),
      { numRuns: runs(300) },
    );
  });
});

function stepItems(kind: string, n: number): HubItem[] {
  const id = `c${n}`;
  if (kind === 'call') return [call(id), result(id, `r${n}`)];
  if (kind === 'open') return [call(id)];
  if (kind === 'late') return [call(id), message('user', 'between'), result(id, `r${n}`)];
  if (kind === 'think') {
    return [{ kind: 'reasoning', summary: [], opaque: { issuer: 'messages', kind: 'thinking', data: `s${n}` } }];
  }
  if (kind === 'empty') return [message('assistant', ''), message('user', ' ')];
  return [message(kind as 'user', `${kind} ${n}`)];
}

/** The provider's validation rules that conversions can violate. */
function assertLegal(made: readonly { role: string; content: JsonObject[] }[]): void {
  assert.equal(made[0]?.role, 'user');
  for (const [n, { role, content }] of made.entries()) {
    assert.ok(content.length > 0, 'no empty turn');
    assert.notEqual(role, made[n - 1]?.role, 'roles alternate');
    const uses = content.filter((block) => block.type === 'tool_use').map((block) => block.id);
    const next = made[n + 1]?.content ?? [];
    const resultIds = next.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
    if (role === 'assistant') {
      assert.deepEqual(resultIds, uses, 'the next turn has every result, in call order');
      assert.deepEqual(
        next.slice(0, uses.length).map((block) => block.type),
        uses.map(() => 'tool_result'),
      );
      assert.notEqual(content.at(-1)?.type, 'thinking');
    }
    if (role === 'system') assert.ok(made[n - 1]?.role === 'user' && made[n + 1]?.role !== 'user');
    for (const block of content) if (block.type === 'text') assert.match(String(block.text), /\S/);
  }
}
