/** What an answer says that the client's dialect says otherwise. */
import { answer, FIND, type Row, recorded, seenIn, tells, user, type Way } from './row.ts';

const OVER_MESSAGES = ['chat over messages', 'responses over messages'] as const satisfies readonly Way[];

const CITED = {
  type: 'text',
  text: 'Pears are green.',
  citations: [
    {
      type: 'web_search_result_location',
      url: 'https://pears.example/',
      title: 'Pears',
      encrypted_index: 'OPAQUE',
      cited_text: 'green',
    },
  ],
};

const PICTURE = [{ text: 'Look: ' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }];

const REFUSED = {
  stop_reason: 'refusal',
  stop_details: { type: 'refusal', category: 'cyber', explanation: 'I will not.' },
};

const TEXT_CALL_TEXT = [
  { type: 'text', text: 'one ' },
  { type: 'tool_use', id: 'call_a', name: 'find', input: {} },
  { type: 'text', text: 'two' },
];

const ITERATIONS = {
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    iterations: [
      { type: 'message', input_tokens: 10, output_tokens: 5 },
      { type: 'message', input_tokens: 20, output_tokens: 6 },
    ],
  },
};

const candidate = (index: number, text: string) => ({
  index,
  content: { role: 'model', parts: [{ text }] },
  finishReason: 'STOP',
});
/** In whatever order they stand. */
const SEVERAL = answer.generate([], { candidates: [candidate(1, 'second'), candidate(0, 'first')] });

export const ANSWERS: Readonly<Record<number, Row>> = {
  47: {
    story:
      "Citations of web pages become those of the client's dialect; what only the provider could read in them is gone.",
    ways: OVER_MESSAGES,
    fate: ['changed'],
    proofs: [
      tells('responses over messages', answer.messages([CITED]), {
        body: {
          output: [
            {
              content: [
                {
                  text: 'Pears are green.',
                  annotations: [
                    {
                      type: 'url_citation',
                      url: 'https://pears.example/',
                      title: 'Pears',
                      start_index: 0,
                      end_index: 16,
                    },
                  ],
                },
              ],
            },
          ],
        },
        nowhere: ['OPAQUE'],
      }),
      tells('chat over messages', answer.messages([CITED]), {
        body: {
          choices: [
            {
              message: {
                content: 'Pears are green.',
                annotations: [{ type: 'url_citation', url_citation: { url: 'https://pears.example/', end_index: 16 } }],
              },
            },
          ],
        },
        nowhere: ['OPAQUE'],
      }),
    ],
  },
  48: {
    story:
      'A search of another provider is shown in blocks that the client knows; they are left out again when they come back.',
    ways: ['messages over responses'],
    fate: ['changed', 'left out'],
    proofs: [
      tells(
        'messages over responses',
        answer.responses([
          { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'pears' } },
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [
              {
                type: 'output_text',
                text: 'Pears are green.',
                annotations: [
                  {
                    type: 'url_citation',
                    url: 'https://pears.example/',
                    title: 'Pears',
                    start_index: 0,
                    end_index: 16,
                  },
                ],
              },
            ],
          },
        ]),
        {
          body: {
            content: [
              { type: 'server_tool_use', name: 'web_search', input: { query: 'pears' } },
              { type: 'web_search_tool_result' },
              { type: 'text', text: 'Pears are green.', citations: [{ url: 'https://pears.example/' }] },
            ],
            usage: { server_tool_use: { web_search_requests: 1 } },
          },
        },
        {
          request: { messages: [user('hi')], tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
          next: {
            add: [user('go')],
            upstream: 'messages',
            expect: {
              body: { messages: [{}, { content: [{ type: 'text', text: 'Pears are green.' }] }, {}] },
              nowhere: ['srvtoolu_gw', 'gw1.'],
            },
          },
        },
      ),
    ],
  },
  49: {
    story: 'Of a refusal the words arrive, its category does not.',
    ways: OVER_MESSAGES,
    fate: ['left out'],
    proofs: [
      tells('responses over messages', answer.messages([], REFUSED), {
        body: { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: 'I will not.' }] }] },
        nowhere: ['cyber'],
      }),
      tells('chat over messages', answer.messages([], REFUSED), {
        body: { choices: [{ message: { content: null, refusal: 'I will not.' }, finish_reason: 'content_filter' }] },
        nowhere: ['cyber'],
      }),
    ],
  },
  50: {
    story: "A provider's pause in the middle of its work is continued by the gateway; the client sees one answer.",
    ways: OVER_MESSAGES,
    fate: ['changed'],
    proofs: [
      seenIn('pause', 'a pause is continued, and the client sees one ... with the usage of both rounds'),
      seenIn('pause', 'chat clients are spared the pause as well'),
    ],
  },
  51: {
    story: 'Text before and behind a call is one text in a chat message, which has no order between the two.',
    ways: ['chat over messages', 'chat over generate', 'chat over responses'],
    fate: ['changed'],
    proofs: [
      tells('chat over messages', answer.messages(TEXT_CALL_TEXT, { stop_reason: 'tool_use' }), {
        body: {
          choices: [{ message: { content: 'one two', tool_calls: [{ id: 'call_a' }] }, finish_reason: 'tool_calls' }],
        },
      }),
      tells(
        'chat over generate',
        answer.generate([
          { text: 'one ' },
          { functionCall: { id: 'call_a', name: 'find', args: {} } },
          { text: 'two' },
        ]),
        {
          body: {
            choices: [{ message: { content: 'one two', tool_calls: [{ id: 'call_a' }] }, finish_reason: 'tool_calls' }],
          },
        },
        { request: { tools: [FIND.chat] } },
      ),
      tells(
        'chat over responses',
        answer.responses([
          message('one '),
          { type: 'function_call', id: 'fc_1', call_id: 'call_a', name: 'find', arguments: '{}', status: 'completed' },
          message('two'),
        ]),
        {
          body: {
            choices: [{ message: { content: 'one two', tool_calls: [{ id: 'call_a' }] }, finish_reason: 'tool_calls' }],
          },
        },
      ),
    ],
  },
  52: {
    story: 'Of several candidates the first is told.',
    ways: ['messages over generate', 'chat over generate', 'responses over generate'],
    fate: ['left out'],
    proofs: [
      tells('messages over generate', SEVERAL, {
        body: { content: [{ text: 'first' }] },
        nowhere: ['second'],
      }),
      tells('chat over generate', SEVERAL, {
        body: { choices: [{ message: { content: 'first' } }] },
        nowhere: ['second'],
      }),
      tells('responses over generate', SEVERAL, {
        body: { output: [{ content: [{ text: 'first' }] }] },
        nowhere: ['second'],
      }),
    ],
  },
  54: {
    story: 'A picture that a model made reaches a responses client; the others read a note in its place.',
    ways: ['messages over generate', 'chat over generate', 'responses over generate'],
    fate: ['changed', 'left out'],
    proofs: [
      tells('messages over generate', answer.generate(PICTURE), {
        body: { content: [{ text: 'Look: ' }, { text: '[image omitted]' }] },
        nowhere: ['iVBORw0KGgo'],
      }),
      tells('chat over generate', answer.generate(PICTURE), {
        body: { choices: [{ message: { content: 'Look: [image omitted]' } }] },
        nowhere: ['iVBORw0KGgo'],
      }),
      tells('responses over generate', answer.generate(PICTURE), {
        body: { output: [{ type: 'message' }, { type: 'image_generation_call', result: 'iVBORw0KGgo=' }] },
      }),
    ],
  },
  58: {
    story: "How long written tokens are kept is told in the two classes of the client's dialect; the sum holds.",
    ways: ['responses over messages', 'messages over responses'],
    fate: ['changed'],
    proofs: [
      recorded('responses-messages-usage-ttl.json'),
      tells(
        'messages over responses',
        answer.responses([message('Hello.')], {
          usage: {
            input_tokens: 100,
            input_tokens_details: {
              cached_tokens: 60,
              cache_write_tokens: 10,
              cache_write_tokens_details: { ttl_30m_tokens: 4, ttl_12h_tokens: 6 },
            },
            output_tokens: 5,
            total_tokens: 105,
          },
        }),
        {
          body: {
            usage: {
              input_tokens: 30,
              cache_read_input_tokens: 60,
              cache_creation_input_tokens: 10,
              cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 6 },
            },
          },
        },
      ),
    ],
  },
  59: {
    story: 'Rounds that a provider counts one by one are added up.',
    ways: OVER_MESSAGES,
    fate: ['changed'],
    proofs: [
      tells('responses over messages', answer.messages([{ type: 'text', text: 'Hello.' }], ITERATIONS), {
        body: { usage: { input_tokens: 30, output_tokens: 11, total_tokens: 41 } },
      }),
      tells('chat over messages', answer.messages([{ type: 'text', text: 'Hello.' }], ITERATIONS), {
        body: { usage: { prompt_tokens: 30, completion_tokens: 11, total_tokens: 41 } },
      }),
    ],
  },
};

function message(text: string) {
  return {
    type: 'message',
    id: `msg_${text.length}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}
