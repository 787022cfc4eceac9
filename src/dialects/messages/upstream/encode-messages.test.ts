import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { call, encode, fn, result, say, t, target, text, turns } from '../../../../test/support/dialects/messages.ts';
import { runs } from '../../../../test/support/properties.ts';
import type { HubItem, HubPart, HubTool, JsonObject } from '../../hub/types.ts';

describe('the conversation for a messages upstream', () => {
  it('gathers results behind their calls, in call order and before any text', () => {
    const items = [
      say('user', 'Go'),
      say('assistant', 'Looking.'),
      call('a', '{"q":1}'),
      call('b'),
      say('user', 'Hurry'),
      result('b', 'B'),
      result('a', 'A'),
    ];
    assert.deepEqual(turns(items), [
      { role: 'user', content: [t('Go')] },
      {
        role: 'assistant',
        content: [
          t('Looking.'),
          { type: 'tool_use', id: 'a', name: 'find', input: { q: 1 } },
          { type: 'tool_use', id: 'b', name: 'find', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [t('A')] },
          { type: 'tool_result', tool_use_id: 'b', content: [t('B')] },
          t('Hurry'),
        ],
      },
    ]);
  });

  it('answers a call that nobody answered', () => {
    const [, , answer] = turns([say('user', 'Go'), call('a'), say('user', 'Well?')]);
    assert.deepEqual(answer?.content, [
      {
        type: 'tool_result',
        tool_use_id: 'a',
        is_error: true,
        content: [t('No output was recorded for this call.')],
      },
      t('Well?'),
    ]);
  });

  it('refuses an answer to no call, in the words that clients know', () => {
    assert.throws(() => turns([say('user', 'Go'), result('ghost', 'x')]), {
      code: 'invalid_request',
      message: 'No tool call found for function call output with call_id ghost.',
    });
  });

  it('keeps sequential steps apart and their order', () => {
    const roles = turns([say('user', 'Go'), call('a'), result('a', '1'), call('b'), result('b', '2')]).map(
      (turn) => turn.role,
    );
    assert.deepEqual(roles, ['user', 'assistant', 'user', 'assistant', 'user']);
  });

  it('begins with the user, merges neighbours and leaves out what is empty', () => {
    const made = turns([
      say('assistant', 'Hello'),
      say('assistant', ''),
      say('user', ' '),
      say('user', 'a'),
      say('user', 'b'),
    ]);
    assert.deepEqual(made, [
      { role: 'user', content: [t('.')] },
      { role: 'assistant', content: [t('Hello')] },
      { role: 'user', content: [t('a'), t('b')] },
    ]);
  });

  it('keeps later instructions in place: as such where that is legal, else as marked text', () => {
    const items = [
      say('user', 'a'),
      say('system', 'Be brief.'),
      say('assistant', 'b'),
      say('system', 'x'),
      say('user', 'c'),
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
    assert.deepEqual(turns(items)[0]?.content, [t('a'), t('<system>Be brief.</system>')]);
  });

  it('ends with an assistant turn only where the model continues one', () => {
    const items = [say('user', 'a'), say('assistant', 'Once upon \n')];
    assert.throws(() => turns(items), { message: /does not support assistant message prefill/ });
    assert.deepEqual(turns(items, target({ prefill: true }))[1]?.content, [t('Once upon')]);
  });

  it('goes on after a pause without taking it for a prefill', () => {
    const raw = [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }];
    const paused: HubItem = {
      kind: 'server_call',
      id: 'srvtoolu_1',
      tool: 'web_search',
      issuer: 'messages',
      status: 'in_progress',
      raw,
    };
    assert.deepEqual(turns([say('user', 'a'), paused])[1]?.content, raw);
  });

  it('restores what this provider and account signed, drops all other reasoning, and never shows it as text', () => {
    const own = { issuer: 'messages', kind: 'thinking', data: 'S', lengths: [4] } as const;
    const think = (opaque: object, ...summary: string[]): HubItem =>
      ({ kind: 'reasoning', summary, opaque }) as HubItem;
    const items = [
      say('user', 'a'),
      think(own, 'hmm.'),
      think({ issuer: 'messages', kind: 'redacted', data: 'D' }),
      think({ issuer: 'responses', kind: 'reasoning', id: 'rs', data: 'E' }, 'secret'),
      think({ ...own, account: 'other' }, 'hmm.'),
      think(own, 'edited by the client'),
      { kind: 'reasoning', summary: ['unsigned'] } as const,
      say('assistant', 'ok'),
      think(own, 'hmm.'),
      say('user', 'b'),
    ];
    assert.deepEqual(turns(items, target({}, { account: 'mine' }))[1]?.content, [
      { type: 'thinking', thinking: 'hmm.', signature: 'S' },
      { type: 'redacted_thinking', data: 'D' },
      t('ok'),
    ]);
  });

  it('maps ids and names that do not fit, alike in calls and results', () => {
    const items = [
      say('user', 'a'),
      call('call:1.x', '{}', { name: 'read.file', namespace: 'mcp__files' } as Partial<HubItem>),
      result('call:1.x', 'ok'),
    ];
    const encoded = encode({ items, tools: [fn('read.file', { namespace: 'mcp__files' } as Partial<HubTool>)] });
    const messages = encoded.body.messages as { content: JsonObject[] }[];
    const [use, answer] = [messages[1]?.content[0], messages[2]?.content[0]];
    assert.match(String(use?.id), /^call_[a-z2-7]{24}$/);
    assert.equal(answer?.tool_use_id, use?.id);
    assert.equal(use?.name, 'mcp__files__read_file');
    assert.deepEqual(encoded.names.get('mcp__files__read_file'), { name: 'read.file', namespace: 'mcp__files' });
  });

  it('writes pictures and files, and refuses what the provider cannot see', () => {
    const image = (mime: string): HubPart => ({ kind: 'image', source: { kind: 'base64', mime, data: 'AA==' } });
    const file = (source: (HubPart & { kind: 'file' })['source']): HubPart => ({ kind: 'file', source, title: 'T' });
    const [turn] = turns([
      say(
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
      { type: 'search_result', source: 's', title: 't', content: [t('x')] },
    ]);
    const audio: HubPart = { kind: 'audio', source: { kind: 'base64', mime: 'audio/wav', data: '' } };
    assert.throws(() => turns([say('user', audio)]), { code: 'unsupported_parameter' });
    assert.throws(() => turns([say('user', image('image/bmp'))]), { code: 'invalid_value' });
    const foreign = file({ kind: 'file_id', id: 'file-77', issuer: 'responses' });
    assert.throws(() => turns([say('user', foreign)]), { message: /file-77/ });
  });

  it('says that a call failed, in words only', () => {
    const image: HubPart = { kind: 'image', source: { kind: 'url', url: 'https://a.example/i.png' } };
    const failed = (...parts: HubPart[]) =>
      turns([say('user', 'a'), call('c'), { ...result('c', ...parts), isError: true } as HubItem])[2]?.content[0];
    assert.deepEqual(failed(), {
      type: 'tool_result',
      tool_use_id: 'c',
      is_error: true,
      content: [t('The call failed.')],
    });
    assert.equal(failed(text('no'))?.is_error, true);
    assert.equal(failed(image)?.is_error, undefined);
  });

  it('keeps a readable summary of another provider, and refuses one that only its issuer can read', () => {
    assert.deepEqual(turns([{ kind: 'compaction', text: 'So far.' }, say('user', 'a')])[0]?.content, [
      t('So far.'),
      t('a'),
    ]);
    const opaque = { issuer: 'responses', kind: 'compaction', data: 'x' } as const;
    assert.throws(() => turns([{ kind: 'compaction', opaque }]), { code: 'invalid_request' });
  });

  it('is prefix-stable: more history never changes the bytes before it', () => {
    const step = fc.constantFrom('user', 'assistant', 'call', 'think');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 6 }), (first, second) => {
        const build = (steps: readonly string[]) => steps.flatMap((kind, n) => stepItems(kind, n));
        const short = turns([...build(first), say('user', 'stop')]);
        const long = turns([...build(first), say('user', 'stop'), ...build([...second]), say('user', 'stop')]);
        const same = short.slice(0, -1).map((turn) => JSON.stringify(turn));
        assert.deepEqual(
          long.slice(0, same.length).map((turn) => JSON.stringify(turn)),
          same,
        );
      }),
      { numRuns: runs(100) },
    );
  });

  it('always obeys the provider’s rules, whatever the history', () => {
    const step = fc.constantFrom('user', 'assistant', 'call', 'open', 'late', 'think', 'system', 'empty');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.boolean(), (steps, midSystem) => {
        const items = [...steps.flatMap((kind, n) => stepItems(kind, n)), say('user', 'stop')];
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
  if (kind === 'late') return [call(id), say('user', 'between'), result(id, `r${n}`)];
  if (kind === 'think') {
    return [{ kind: 'reasoning', summary: [], opaque: { issuer: 'messages', kind: 'thinking', data: `s${n}` } }];
  }
  if (kind === 'empty') return [say('assistant', ''), say('user', ' ')];
  return [say(kind as 'user', `${kind} ${n}`)];
}

/** The provider's validation, as far as it is known to bite converters. */
function assertLegal(made: readonly { role: string; content: JsonObject[] }[]): void {
  assert.equal(made[0]?.role, 'user');
  for (const [n, { role, content }] of made.entries()) {
    assert.ok(content.length > 0, 'no empty turn');
    assert.notEqual(role, made[n - 1]?.role, 'roles alternate');
    const uses = content.filter((block) => block.type === 'tool_use').map((block) => block.id);
    const next = made[n + 1]?.content ?? [];
    const answers = next.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
    if (role === 'assistant') {
      assert.deepEqual(answers, uses, 'every call is answered next, in order');
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
