/** Lossy points of request settings that the provider lacks or limits differently. */
import {
  assistant,
  assistantMessage,
  type Conversion,
  encodes,
  fromFile,
  type Row,
  rejects,
  returns,
  unaryReply,
  user,
} from './row.ts';

const FROM_RESPONSES = ['responses over messages', 'responses over generate'] as const satisfies readonly Conversion[];
const FROM_MESSAGES = ['messages over responses', 'messages over generate'] as const satisfies readonly Conversion[];
const FROM_CHAT = [
  'chat over messages',
  'chat over responses',
  'chat over generate',
] as const satisfies readonly Conversion[];

const SHORT = { type: 'ephemeral' };
const LONG = { type: 'ephemeral', ttl: '1h' };
const text = (words: string, cache_control?: object) => ({
  type: 'text',
  text: words,
  ...(cache_control && { cache_control }),
});

/** Six cache breakpoints of a messages client. */
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
    summary:
      'Cache breakpoints are kept where the model supports them: the last four, with the nearest lifetime. Other models get a cache key from the session.',
    conversions: ['messages over responses'],
    outcomes: ['changed', 'dropped'],
    vectors: [
      encodes(
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
      encodes(
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
    summary: 'Cache breakpoints become `cache_control`: the last four, with the nearest lifetime.',
    conversions: ['responses over messages', 'chat over messages'],
    outcomes: ['changed'],
    vectors: (['responses', 'chat'] as const).map((client) =>
      encodes(`${client} over messages`, SIX_BREAKPOINTS[client], {
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
    summary: 'Cache breakpoints are dropped where the provider caches prefixes automatically.',
    conversions: ['messages over generate', 'chat over generate', 'responses over generate'],
    outcomes: ['dropped'],
    vectors: [
      encodes('messages over generate', MARKED, { nowhere: ['cache'], dropped: ['cache_control'] }),
      ...(['chat', 'responses'] as const).map((client) =>
        encodes(`${client} over generate`, SIX_BREAKPOINTS[client], {
          nowhere: ['cache'],
          dropped: ['prompt_cache_breakpoint'],
        }),
      ),
    ],
  },
  14: {
    summary:
      'The provider has no field for stop sequences, or the model does not accept them, such as gpt-5 in chat completions: the gateway watches the text and cuts it.',
    conversions: ['messages over responses', 'chat over responses', 'messages over chat'],
    outcomes: ['changed'],
    vectors: [
      fromFile('messages-responses-stop-split.json'),
      fromFile('messages-responses-stop-incomplete.json'),
      encodes(
        'messages over chat',
        { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], stop_sequences: ['END'] },
        { nowhere: ['END', '"stop"'], emulatedStop: ['END'], dropped: [] },
        { target: { model: 'gpt-5' } },
      ),
      encodes(
        'chat over responses',
        { stop: ['END'] },
        { nowhere: ['END', '"stop"'], emulatedStop: ['END'], dropped: [] },
      ),
      returns(
        'chat over responses',
        unaryReply.responses([
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
    summary: 'Five stop sequences are sent to the provider; the gateway watches for the others.',
    conversions: ['messages over generate'],
    outcomes: ['changed'],
    vectors: [
      fromFile('messages-generate-stop-sequences.json'),
      encodes(
        'messages over generate',
        { stop_sequences: ['a1', 'b2', 'c3', 'd4', 'e5', 'f6', 'g7'] },
        { body: { generationConfig: { stopSequences: ['a1', 'b2', 'c3', 'd4', 'e5'] } }, emulatedStop: ['f6', 'g7'] },
      ),
    ],
  },
  16: {
    summary: '`top_k`, penalties, `seed` and verbosity are dropped where the provider has no such field.',
    conversions: ['messages over responses', ...FROM_CHAT, ...FROM_RESPONSES],
    outcomes: ['dropped'],
    vectors: [
      encodes('messages over responses', { top_k: 3 }, { nowhere: ['top_k'], dropped: ['top_k'] }),
      encodes('chat over messages', tuned(), {
        nowhere: ['seed', 'penalty', 'verbosity'],
        dropped: ['seed', 'presence_penalty', 'frequency_penalty', 'verbosity'],
      }),
      encodes('chat over responses', tuned(), {
        body: { text: { verbosity: 'low' } },
        nowhere: ['seed', 'penalty'],
        dropped: ['seed', 'presence_penalty', 'frequency_penalty'],
      }),
      encodes('chat over generate', tuned(), {
        body: { generationConfig: { seed: 7, presencePenalty: 0.5, frequencyPenalty: 0.5 } },
        nowhere: ['verbosity'],
        dropped: ['verbosity'],
      }),
      ...FROM_RESPONSES.map((conversion) =>
        encodes(conversion, { text: { verbosity: 'low' } }, { nowhere: ['verbosity'], dropped: ['text.verbosity'] }),
      ),
    ],
  },
  17: {
    summary: '`temperature` and `top_p` are dropped for models with fixed sampling.',
    conversions: ['chat over messages', 'responses over messages', 'messages over responses', 'chat over responses'],
    outcomes: ['dropped'],
    vectors: (
      [
        ['chat over messages', 'claude-opus-5'],
        ['responses over messages', 'claude-opus-5'],
        ['messages over responses', 'gpt-6'],
        ['chat over responses', 'gpt-6'],
      ] as const
    ).map(([conversion, model]) =>
      encodes(
        conversion,
        { temperature: 0.3, top_p: 0.4 },
        { absent: ['temperature', 'top_p'], dropped: ['temperature', 'top_p'] },
        { target: { model } },
      ),
    ),
  },
  18: {
    summary:
      'Logit bias, several choices and log probabilities are rejected, because the response could not contain what the client asked for.',
    conversions: FROM_CHAT,
    outcomes: ['rejected'],
    vectors: FROM_CHAT.flatMap((conversion) =>
      Object.entries({ logit_bias: { 50256: -100 }, n: 2, logprobs: true }).map(([param, value]) =>
        rejects(conversion, { [param]: value }, { code: 'unsupported_parameter', param }),
      ),
    ),
  },
  36: {
    summary: 'Stored conversations and prompt templates are rejected.',
    conversions: FROM_RESPONSES,
    outcomes: ['rejected'],
    vectors: FROM_RESPONSES.flatMap((conversion) =>
      Object.entries({ conversation: 'conv_1', prompt: { id: 'pmpt_1' } }).map(([param, value]) =>
        rejects(conversion, { [param]: value }, { code: 'unsupported_parameter', param }),
      ),
    ),
  },
  38: {
    summary: 'A request to compact the conversation is rejected, because no other provider could read the result.',
    conversions: [...FROM_RESPONSES, ...FROM_MESSAGES],
    outcomes: ['rejected'],
    vectors: [
      ...FROM_RESPONSES.map((conversion) =>
        rejects(
          conversion,
          { input: [user('hi'), { type: 'compaction_trigger' }] },
          { code: 'unsupported_parameter', param: 'input[1]' },
        ),
      ),
      ...FROM_MESSAGES.map((conversion) =>
        rejects(
          conversion,
          { compaction: { type: 'enabled' } },
          { code: 'unsupported_parameter', param: 'compaction' },
        ),
      ),
    ],
  },
  39: {
    summary: 'Threads are rejected with the code on which the SDK sends the complete conversation instead.',
    conversions: FROM_MESSAGES,
    outcomes: ['rejected'],
    vectors: FROM_MESSAGES.map((conversion) =>
      rejects(
        conversion,
        { thread: { type: 'create' } },
        { code: 'unsupported_parameter', param: 'thread', reason: 'thread_unsupported_request' },
      ),
    ),
  },
  40: {
    summary:
      'Compaction is converted between the two providers that have it. Other context edits are dropped, so the client keeps sending the complete conversation.',
    conversions: FROM_MESSAGES,
    outcomes: ['changed', 'carried', 'dropped'],
    vectors: [
      encodes(
        'messages over responses',
        { context_management: { edits: [COMPACT] } },
        { body: { context_management: [{ type: 'compaction', compact_threshold: 90_000 }] }, dropped: [] },
      ),
      returns(
        'messages over responses',
        unaryReply.responses([{ type: 'compaction', id: 'cmp_1', encrypted_content: 'E' }, assistantMessage('Hello.')]),
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
      encodes(
        'messages over generate',
        { context_management: { edits: [COMPACT] } },
        { nowhere: ['compact'], dropped: ['context_management'] },
      ),
      ...FROM_MESSAGES.map((conversion) =>
        encodes(
          conversion,
          { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
          { nowhere: ['context_management', 'clear_tool_uses'], dropped: ['context_management'] },
        ),
      ),
    ],
  },
  41: {
    summary: 'Fallbacks, speed, inference region and diagnostics are dropped, because they configure one provider.',
    conversions: FROM_MESSAGES,
    outcomes: ['dropped'],
    vectors: FROM_MESSAGES.map((conversion) => {
      const fields = {
        fallbacks: [{ model: 'x' }],
        fallback_credit_token: 't',
        speed: 'fast',
        inference_geo: 'eu',
        diagnostics: { previous_message_id: 'msg_1' },
      };
      return encodes(conversion, fields, { absent: Object.keys(fields), dropped: Object.keys(fields) });
    }),
  },
  42: {
    summary: 'Safety settings exist only in the generate dialect; a converted request has none.',
    conversions: ['chat over generate'],
    outcomes: ['dropped'],
    vectors: [
      encodes(
        'chat over generate',
        { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] },
        { absent: ['safetySettings'], dropped: ['safetySettings'] },
      ),
    ],
    test: 'test/e2e/native-bytes.test.ts',
  },
  43: {
    summary: 'Moderation is rejected where the provider has none; access programs are dropped.',
    conversions: [...FROM_RESPONSES, 'chat over messages', 'chat over generate'],
    outcomes: ['rejected', 'dropped'],
    vectors: [
      ...([...FROM_RESPONSES, 'chat over messages', 'chat over generate'] as const).map((conversion) =>
        rejects(conversion, { moderation: { model: 'm' } }, { code: 'unsupported_parameter', param: 'moderation' }),
      ),
      ...FROM_RESPONSES.map((conversion) =>
        encodes(conversion, { access_programs: ['a'] }, { absent: ['access_programs'], dropped: ['access_programs'] }),
      ),
    ],
  },
  44: {
    summary: 'An output schema is closed, and constraints that the provider cannot enforce move into descriptions.',
    conversions: ['responses over messages', 'chat over messages'],
    outcomes: ['changed'],
    vectors: [
      fromFile('responses-messages-schema.json'),
      encodes(
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
    summary: 'JSON mode without a schema becomes an instruction.',
    conversions: ['responses over messages', 'chat over messages'],
    outcomes: ['changed'],
    vectors: [
      encodes(
        'responses over messages',
        { instructions: 'Be brief.', text: { format: { type: 'json_object' } } },
        {
          body: { system: [{ text: 'Be brief.' }, { text: { $match: 'JSON' } }] },
          absent: ['output_config'],
          dropped: [],
        },
      ),
      encodes(
        'chat over messages',
        { response_format: { type: 'json_object' } },
        { body: { system: [{ text: { $match: 'JSON' } }] }, absent: ['output_config'], dropped: [] },
      ),
    ],
  },
  55: {
    summary: 'Metadata is not sent where the provider has no field for it; a responses client still gets it back.',
    conversions: [...FROM_RESPONSES, 'chat over messages', 'chat over generate'],
    outcomes: ['dropped'],
    vectors: [
      ...([...FROM_RESPONSES, 'chat over messages', 'chat over generate'] as const).map((conversion) =>
        encodes(conversion, { metadata: { ticket: 'T-1' } }, { nowhere: ['T-1'], dropped: ['metadata'] }),
      ),
      returns(
        'responses over messages',
        unaryReply.messages([text('Hello.')]),
        { body: { metadata: { ticket: 'T-1' } } },
        { request: { metadata: { ticket: 'T-1' } } },
      ),
    ],
  },
  56: {
    summary:
      'A service tier becomes the nearest tier of the provider; one without a counterpart is dropped. A tier without a price is rejected, because it may cost more than the standard one.',
    conversions: [...FROM_RESPONSES, ...FROM_MESSAGES],
    outcomes: ['changed', 'dropped', 'rejected'],
    vectors: [
      ...Object.entries({ auto: 'auto', default: 'standard_only', priority: 'auto' }).map(([asked, service_tier]) =>
        encodes('responses over messages', { service_tier: asked }, { body: { service_tier }, dropped: [] }),
      ),
      encodes(
        'responses over messages',
        { service_tier: 'flex' },
        { body: { service_tier: 'standard_only' }, dropped: ['service_tier'] },
      ),
      ...Object.entries({ default: 'standard', priority: 'priority', flex: 'flex' }).map(([asked, serviceTier]) =>
        encodes('responses over generate', { service_tier: asked }, { body: { serviceTier }, dropped: [] }),
      ),
      encodes('messages over responses', { service_tier: 'standard_only' }, { body: { service_tier: 'default' } }),
      encodes('messages over generate', { service_tier: 'standard_only' }, { body: { serviceTier: 'standard' } }),
      returns(
        'responses over messages',
        unaryReply.messages([text('Hello.')], {
          usage: { input_tokens: 1, output_tokens: 1, service_tier: 'priority' },
        }),
        { body: { service_tier: 'priority' } },
      ),
    ],
  },
  57: {
    summary: 'The user identifier is sent only as a hash, or dropped where the provider has no field for it.',
    conversions: [
      ...FROM_RESPONSES,
      ...FROM_MESSAGES,
      'chat over messages',
      'chat over generate',
      'chat over responses',
    ],
    outcomes: ['changed', 'dropped'],
    vectors: [
      encodes(
        'messages over responses',
        { metadata: { user_id: 'ana@example.com' } },
        { body: { safety_identifier: { $match: '^[\\w-]{20,64}$' } }, nowhere: ['ana@'], dropped: [] },
      ),
      encodes(
        'messages over generate',
        { metadata: { user_id: 'ana@example.com' } },
        { nowhere: ['ana@'], dropped: ['metadata.user_id'] },
      ),
      ...(['responses over messages', 'chat over messages'] as const).flatMap((conversion) =>
        ['safety_identifier', 'user'].map((field) =>
          encodes(
            conversion,
            { [field]: 'ana@example.com' },
            { body: { metadata: { user_id: { $match: '^[\\w-]{20,64}$' } } }, nowhere: ['ana@'], dropped: [] },
          ),
        ),
      ),
      ...(['responses over generate', 'chat over generate'] as const).map((conversion) =>
        encodes(
          conversion,
          { safety_identifier: 'ana@example.com' },
          { nowhere: ['ana@'], dropped: ['safety_identifier'] },
        ),
      ),
      encodes(
        'chat over responses',
        { safety_identifier: 'ana@example.com' },
        { body: { safety_identifier: { $match: '^[\\w-]{20,64}$' } }, nowhere: ['ana@'], dropped: [] },
      ),
    ],
  },
  60: {
    summary: 'An unknown request field is dropped and named.',
    conversions: [...FROM_RESPONSES, ...FROM_MESSAGES, ...FROM_CHAT],
    outcomes: ['dropped'],
    vectors: ([...FROM_RESPONSES, ...FROM_MESSAGES, ...FROM_CHAT] as const).map((conversion) =>
      encodes(conversion, { brand_new: 1 }, { nowhere: ['brand_new'], dropped: ['brand_new'] }),
    ),
  },
};

function tuned() {
  return { seed: 7, presence_penalty: 0.5, frequency_penalty: 0.5, verbosity: 'low' };
}
