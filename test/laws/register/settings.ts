/** Fields at the top of a request that the other side lacks, limits otherwise, or keeps to itself. */
import { answer, assistant, type Row, recorded, refuses, said, seenIn, tells, user, type Way, writes } from './row.ts';

const FROM_RESPONSES = ['responses over messages', 'responses over generate'] as const satisfies readonly Way[];
const FROM_MESSAGES = ['messages over responses', 'messages over generate'] as const satisfies readonly Way[];
const FROM_CHAT = ['chat over messages', 'chat over responses', 'chat over generate'] as const satisfies readonly Way[];

const SHORT = { type: 'ephemeral' };
const LONG = { type: 'ephemeral', ttl: '1h' };
const text = (words: string, cache_control?: object) => ({
  type: 'text',
  text: words,
  ...(cache_control && { cache_control }),
});

/** Six marks of a messages client. */
const MARKED = {
  system: [text('a', LONG), text('b', LONG)],
  messages: [user([text('c', SHORT), text('d', SHORT)]), assistant('e'), user([text('f', SHORT), text('g', LONG)])],
};

const LETTERS = ['a', 'b', 'c', 'd', 'e', 'f'];
const breakpoint = (n: number) => ({ prompt_cache_breakpoint: { mode: 'explicit', ttl: n < 3 ? '12h' : '30m' } });
const SIX_BREAKPOINTS = {
  responses: { input: [user(LETTERS.map((one, n) => ({ type: 'input_text', text: one, ...breakpoint(n) })))] },
  chat: { messages: [user(LETTERS.map((one, n) => ({ type: 'text', text: one, ...breakpoint(n) })))] },
};

const COMPACT = { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 90_000 } };

const SCHEMA = { type: 'object', properties: { name: { type: 'string', minLength: 3 } }, required: ['name'] };
const CLOSED = {
  type: 'object',
  properties: { name: { type: 'string', description: { $match: 'minLength' } } },
  required: ['name'],
  additionalProperties: false,
};

export const SETTINGS: Readonly<Record<number, Row>> = {
  11: {
    story:
      'Cache marks become breakpoints where the model takes them: the last four, each with the nearest lifetime. Elsewhere they are left out, and the session names the cache.',
    ways: ['messages over responses'],
    fate: ['changed', 'left out'],
    proofs: [
      writes(
        'messages over responses',
        MARKED,
        {
          body: {
            input: [
              { role: 'developer', content: [{ text: 'a' }, { text: 'b' }] },
              {
                role: 'user',
                content: [
                  { text: 'c', prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } },
                  { text: 'd', prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } },
                ],
              },
              { role: 'assistant' },
              {
                role: 'user',
                content: [
                  { text: 'f', prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } },
                  { text: 'g', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
                ],
              },
            ],
          },
          absent: ['input[0].content[0].prompt_cache_breakpoint', 'input[0].content[1].prompt_cache_breakpoint'],
        },
        { target: { model: 'gpt-6' } },
      ),
      writes(
        'messages over responses',
        MARKED,
        {
          body: { instructions: 'a\n\nb', prompt_cache_key: 'session-1' },
          nowhere: ['prompt_cache_breakpoint', 'cache_control'],
          dropped: ['cache_control'],
        },
        { head: { headers: { 'x-claude-code-session-id': 'session-1' } } },
      ),
    ],
  },
  12: {
    story: 'Cache breakpoints become cache marks, the last four of them, with the nearest lifetime.',
    ways: ['responses over messages', 'chat over messages'],
    fate: ['changed'],
    proofs: (['responses', 'chat'] as const).map((client) =>
      writes(`${client} over messages`, SIX_BREAKPOINTS[client], {
        body: {
          messages: [
            {
              content: [
                { text: 'a' },
                { text: 'b' },
                { text: 'c', cache_control: { type: 'ephemeral', ttl: '1h' } },
                ...['d', 'e', 'f'].map((one) => ({ text: one, cache_control: { type: 'ephemeral' } })),
              ],
            },
          ],
        },
        absent: ['messages[0].content[0].cache_control', 'messages[0].content[1].cache_control'],
        dropped: [],
      }),
    ),
  },
  13: {
    story: 'Cache marks are left out where the provider caches beginnings by itself.',
    ways: ['messages over generate', 'chat over generate', 'responses over generate'],
    fate: ['left out'],
    proofs: [
      writes('messages over generate', MARKED, { nowhere: ['cache'], dropped: ['cache_control'] }),
      ...(['chat', 'responses'] as const).map((client) =>
        writes(`${client} over generate`, SIX_BREAKPOINTS[client], {
          nowhere: ['cache'],
          dropped: ['prompt_cache_breakpoint'],
        }),
      ),
    ],
  },
  14: {
    story: 'Stop sequences have no field here: the gateway watches the text and cuts it.',
    ways: ['messages over responses', 'chat over responses'],
    fate: ['changed'],
    proofs: [
      recorded('messages-responses-stop-split.json'),
      recorded('messages-responses-stop-begun.json'),
      writes('chat over responses', { stop: ['END'] }, { nowhere: ['END', '"stop"'], watched: ['END'], dropped: [] }),
      tells(
        'chat over responses',
        answer.responses([
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'one END two', annotations: [] }],
          },
        ]),
        { body: { choices: [{ message: { content: 'one ' }, finish_reason: 'stop' }] } },
        { request: { stop: 'END' } },
      ),
    ],
  },
  15: {
    story: 'Five stop sequences go to the provider, the gateway watches for the others.',
    ways: ['messages over generate'],
    fate: ['changed'],
    proofs: [
      recorded('messages-generate-stop-sequences.json'),
      writes(
        'messages over generate',
        { stop_sequences: ['a1', 'b2', 'c3', 'd4', 'e5', 'f6', 'g7'] },
        { body: { generationConfig: { stopSequences: ['a1', 'b2', 'c3', 'd4', 'e5'] } }, watched: ['f6', 'g7'] },
      ),
    ],
  },
  16: {
    story: 'top_k, penalties, seed and verbosity are left out where the provider has no such field.',
    ways: ['messages over responses', ...FROM_CHAT, ...FROM_RESPONSES],
    fate: ['left out'],
    proofs: [
      writes('messages over responses', { top_k: 3 }, { nowhere: ['top_k'], dropped: ['top_k'] }),
      writes('chat over messages', tuned(), {
        nowhere: ['seed', 'penalty', 'verbosity'],
        dropped: ['seed', 'presence_penalty', 'frequency_penalty', 'verbosity'],
      }),
      writes('chat over responses', tuned(), {
        body: { text: { verbosity: 'low' } },
        nowhere: ['seed', 'penalty'],
        dropped: ['seed', 'presence_penalty', 'frequency_penalty'],
      }),
      writes('chat over generate', tuned(), {
        body: { generationConfig: { seed: 7, presencePenalty: 0.5, frequencyPenalty: 0.5 } },
        nowhere: ['verbosity'],
        dropped: ['verbosity'],
      }),
      ...FROM_RESPONSES.map((way) =>
        writes(way, { text: { verbosity: 'low' } }, { nowhere: ['verbosity'], dropped: ['text.verbosity'] }),
      ),
    ],
  },
  17: {
    story: 'Models with fixed sampling get no temperature and no top_p.',
    ways: ['chat over messages', 'responses over messages', 'messages over responses', 'chat over responses'],
    fate: ['left out'],
    proofs: (
      [
        ['chat over messages', 'claude-opus-5'],
        ['responses over messages', 'claude-opus-5'],
        ['messages over responses', 'gpt-6'],
        ['chat over responses', 'gpt-6'],
      ] as const
    ).map(([way, model]) =>
      writes(
        way,
        { temperature: 0.3, top_p: 0.4 },
        { absent: ['temperature', 'top_p'], dropped: ['temperature', 'top_p'] },
        { target: { model } },
      ),
    ),
  },
  18: {
    story:
      'A bias on words, several answers and log probabilities are refused: the answer would be to another question.',
    ways: FROM_CHAT,
    fate: ['rejected'],
    proofs: FROM_CHAT.flatMap((way) =>
      Object.entries({ logit_bias: { 50256: -100 }, n: 2, logprobs: true }).map(([param, value]) =>
        refuses(way, { [param]: value }, { code: 'unsupported_parameter', param }),
      ),
    ),
  },
  36: {
    story: 'Conversations, prompt templates and background work are kept by one provider, and refused elsewhere.',
    ways: FROM_RESPONSES,
    fate: ['rejected'],
    proofs: FROM_RESPONSES.flatMap((way) =>
      Object.entries({ conversation: 'conv_1', prompt: { id: 'pmpt_1' }, background: true }).map(([param, value]) =>
        refuses(way, { [param]: value }, { code: 'unsupported_parameter', param }),
      ),
    ),
  },
  38: {
    story: 'A request to summarise the conversation is refused: what would come back could not be read elsewhere.',
    ways: [...FROM_RESPONSES, ...FROM_MESSAGES],
    fate: ['rejected'],
    proofs: [
      ...FROM_RESPONSES.map((way) =>
        refuses(
          way,
          { input: [user('hi'), { type: 'compaction_trigger' }] },
          { code: 'unsupported_parameter', param: 'input[1]' },
        ),
      ),
      ...FROM_MESSAGES.map((way) =>
        refuses(way, { compaction: { type: 'enabled' } }, { code: 'unsupported_parameter', param: 'compaction' }),
      ),
    ],
  },
  39: {
    story: 'Threads are refused in the word on which the SDK sends the whole conversation instead.',
    ways: FROM_MESSAGES,
    fate: ['rejected'],
    proofs: FROM_MESSAGES.map((way) =>
      refuses(
        way,
        { thread: { type: 'create' } },
        { code: 'unsupported_parameter', param: 'thread', reason: 'thread_unsupported_request' },
      ),
    ),
  },
  40: {
    story:
      'A summary of a long conversation can be had from two providers, and comes back to the one that made it. Other edits of the context are left out; the client goes on sending everything.',
    ways: FROM_MESSAGES,
    fate: ['changed', 'carried', 'left out'],
    proofs: [
      writes(
        'messages over responses',
        { context_management: { edits: [COMPACT] } },
        { body: { context_management: [{ type: 'compaction', compact_threshold: 90_000 }] }, dropped: [] },
      ),
      tells(
        'messages over responses',
        answer.responses([{ type: 'compaction', id: 'cmp_1', encrypted_content: 'E' }, said('Hello.')]),
        {
          body: {
            content: [
              { type: 'compaction', content: null, encrypted_content: { $match: '^gw1\\.' } },
              { type: 'text', text: 'Hello.' },
            ],
          },
        },
        {
          request: { messages: [user('hi')], context_management: { edits: [COMPACT] } },
          next: {
            add: [user('go')],
            expect: {
              body: {
                input: [{}, { type: 'compaction', id: 'cmp_1', encrypted_content: 'E' }, { role: 'assistant' }, {}],
              },
              nowhere: ['gw1.'],
            },
          },
        },
      ),
      writes(
        'messages over generate',
        { context_management: { edits: [COMPACT] } },
        { nowhere: ['compact'], dropped: ['context_management'] },
      ),
      ...FROM_MESSAGES.map((way) =>
        writes(
          way,
          { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
          { nowhere: ['context_management', 'clear_tool_uses'], dropped: ['context_management'] },
        ),
      ),
    ],
  },
  41: {
    story: "Fallbacks, speed, place of inference and diagnostics are left out: they steer one provider's machines.",
    ways: FROM_MESSAGES,
    fate: ['left out'],
    proofs: FROM_MESSAGES.map((way) => {
      const fields = {
        fallbacks: [{ model: 'x' }],
        fallback_credit_token: 't',
        speed: 'fast',
        inference_geo: 'eu',
        diagnostics: { previous_message_id: 'msg_1' },
      };
      return writes(way, fields, { absent: Object.keys(fields), dropped: Object.keys(fields) });
    }),
  },
  42: {
    story: 'Safety settings belong to one dialect: they pass there untouched, and a converted request has none.',
    ways: ['chat over generate'],
    fate: ['left out'],
    proofs: [
      seenIn('native-bytes', 'of generate reaches the upstream as it was sent, the alias changes the path only'),
      writes('chat over generate', { safetySettings: [] }, { absent: ['safetySettings'], dropped: ['safetySettings'] }),
    ],
  },
  43: {
    story: 'Moderation is refused where the provider has none; access programs are left out.',
    ways: [...FROM_RESPONSES, 'chat over messages', 'chat over generate'],
    fate: ['rejected', 'left out'],
    proofs: [
      ...([...FROM_RESPONSES, 'chat over messages', 'chat over generate'] as const).map((way) =>
        refuses(way, { moderation: { model: 'm' } }, { code: 'unsupported_parameter', param: 'moderation' }),
      ),
      ...FROM_RESPONSES.map((way) =>
        writes(way, { access_programs: ['a'] }, { absent: ['access_programs'], dropped: ['access_programs'] }),
      ),
    ],
  },
  44: {
    story: 'A schema is closed, and constraints that the provider cannot enforce are told in the description.',
    ways: ['responses over messages', 'chat over messages'],
    fate: ['changed'],
    proofs: [
      recorded('responses-messages-schema.json'),
      writes(
        'chat over messages',
        { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } } },
        {
          body: { output_config: { format: { type: 'json_schema', schema: CLOSED } } },
          absent: ['output_config.format.schema.properties.name.minLength'],
          dropped: [],
        },
      ),
    ],
  },
  45: {
    story: 'Plain JSON without a schema is asked for in words.',
    ways: ['responses over messages', 'chat over messages'],
    fate: ['changed'],
    proofs: [
      writes(
        'responses over messages',
        { instructions: 'Be brief.', text: { format: { type: 'json_object' } } },
        {
          body: { system: [{ text: 'Be brief.' }, { text: { $match: 'JSON' } }] },
          absent: ['output_config'],
          dropped: [],
        },
      ),
      writes(
        'chat over messages',
        { response_format: { type: 'json_object' } },
        { body: { system: [{ text: { $match: 'JSON' } }] }, absent: ['output_config'], dropped: [] },
      ),
    ],
  },
  55: {
    story:
      'Metadata stays here where the provider has no place for it; a responses client reads it in its answer all the same.',
    ways: [...FROM_RESPONSES, 'chat over messages', 'chat over generate'],
    fate: ['left out'],
    proofs: [
      ...([...FROM_RESPONSES, 'chat over messages', 'chat over generate'] as const).map((way) =>
        writes(way, { metadata: { ticket: 'T-1' } }, { nowhere: ['T-1'], dropped: ['metadata'] }),
      ),
      tells(
        'responses over messages',
        answer.messages([text('Hello.')]),
        { body: { metadata: { ticket: 'T-1' } } },
        { request: { metadata: { ticket: 'T-1' } } },
      ),
    ],
  },
  56: {
    story: 'Service tiers go by the nearest name; one that the provider does not sell is left out.',
    ways: [...FROM_RESPONSES, ...FROM_MESSAGES],
    fate: ['changed', 'left out'],
    proofs: [
      ...Object.entries({ auto: 'auto', default: 'standard_only', priority: 'auto' }).map(([asked, service_tier]) =>
        writes('responses over messages', { service_tier: asked }, { body: { service_tier }, dropped: [] }),
      ),
      writes(
        'responses over messages',
        { service_tier: 'flex' },
        { body: { service_tier: 'standard_only' }, dropped: ['service_tier'] },
      ),
      ...Object.entries({ default: 'standard', priority: 'priority', flex: 'flex' }).map(([asked, serviceTier]) =>
        writes('responses over generate', { service_tier: asked }, { body: { serviceTier }, dropped: [] }),
      ),
      writes('messages over responses', { service_tier: 'standard_only' }, { body: { service_tier: 'default' } }),
      writes('messages over generate', { service_tier: 'standard_only' }, { body: { serviceTier: 'standard' } }),
      tells(
        'responses over messages',
        answer.messages([text('Hello.')], { usage: { input_tokens: 1, output_tokens: 1, service_tier: 'priority' } }),
        { body: { service_tier: 'priority' } },
      ),
    ],
  },
  57: {
    story: 'Who the user is crosses only as a hash, and not at all where there is no place for it.',
    ways: [...FROM_RESPONSES, ...FROM_MESSAGES, 'chat over messages', 'chat over generate', 'chat over responses'],
    fate: ['changed', 'left out'],
    proofs: [
      writes(
        'messages over responses',
        { metadata: { user_id: 'ana@example.com' } },
        { body: { safety_identifier: { $match: '^[a-z2-7]{20,64}$' } }, nowhere: ['ana@'], dropped: [] },
      ),
      writes(
        'messages over generate',
        { metadata: { user_id: 'ana@example.com' } },
        { nowhere: ['ana@'], dropped: ['metadata.user_id'] },
      ),
      ...(['responses over messages', 'chat over messages'] as const).flatMap((way) =>
        ['safety_identifier', 'user'].map((field) =>
          writes(
            way,
            { [field]: 'ana@example.com' },
            { body: { metadata: { user_id: { $match: '^[a-z2-7]{20,64}$' } } }, nowhere: ['ana@'], dropped: [] },
          ),
        ),
      ),
      ...(['responses over generate', 'chat over generate'] as const).map((way) =>
        writes(way, { safety_identifier: 'ana@example.com' }, { nowhere: ['ana@'], dropped: ['safety_identifier'] }),
      ),
      writes(
        'chat over responses',
        { safety_identifier: 'ana@example.com' },
        { body: { safety_identifier: { $match: '^[a-z2-7]{20,64}$' } }, nowhere: ['ana@'], dropped: [] },
      ),
    ],
  },
  60: {
    story: 'A field that nobody here knows is left out and named.',
    ways: [...FROM_RESPONSES, ...FROM_MESSAGES, ...FROM_CHAT],
    fate: ['left out'],
    proofs: ([...FROM_RESPONSES, ...FROM_MESSAGES, ...FROM_CHAT] as const).map((way) =>
      writes(way, { brand_new: 1 }, { nowhere: ['brand_new'], dropped: ['brand_new'] }),
    ),
  },
};

function tuned() {
  return { seed: 7, presence_penalty: 0.5, frequency_penalty: 0.5, verbosity: 'low' };
}
