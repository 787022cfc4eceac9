/** What the tools and libraries of our callers rely on, topic by topic, and the tests that show it. */
import type { Elsewhere } from './test-reference.ts';

const e2e = (file: string, ...titles: string[]): Elsewhere[] =>
  titles.map((title) => ({ file: `test/e2e/${file}.test.ts`, title }));
const streams = (...titles: string[]): Elsewhere[] =>
  titles.map((title) => ({ file: 'test/laws/streams.test.ts', title }));

export const NEEDS: Readonly<Record<string, Readonly<Record<string, readonly Elsewhere[]>>>> = {
  'Claude Code': {
    'its address, probes, model list and token counts': e2e(
      'clients',
      '?beta=true goes along to a provider of its own kind',
      '?beta=true changes nothing on the ... group',
      'probes of the address are answered at once, with whatever',
      'its model list has ids and names, and goes to a thousand',
      'tokens are counted on its own kind, counted or estimated on gemini, and refused where it has another way',
    ),
    'its credentials': [
      ...e2e('clients', 'both credentials may come at once, one of them a leftover'),
      ...e2e('credentials', 'a key is accepted as ...', 'the same key twice is one key'),
    ],
    'its headers, and its session as the choice of an account': e2e(
      'clients',
      'every header that names the tool, its session and its betas reaches a provider of its own kind',
      'its headers stay here when the provider is of another kind',
      'a session stays with one account of four (...)',
    ),
    'its body': e2e(
      'clients',
      'the attribution line passes untouched to its own provider',
      'the attribution line is no instruction for another provider',
      'cache marks may stand everywhere, also on a system entry in the middle',
      'adaptive thinking and effort become what the provider understands',
      'the composite user id reaches no other provider',
      'tools with long schemas and switches of their own are called',
      'a probe with one token is answered',
      'side requests with another model name find their alias',
    ),
    'its stream': [
      ...e2e(
        'clients',
        'a stream thinks with a signature, then calls with JSON in deltas (...)',
        'the last numbers of a stream are the totals of input and output (...)',
      ),
      ...e2e('convert-streams', 'a silent stream is kept alive in the way of its dialect, ...'),
    ],
    'what it tries again': e2e(
      'convert-faults',
      'a rate limit without another account says how long to wait (...)',
      'an account with ... is passed over, and alone reads as overload',
      '... ends in the error of the dialect, and the account rests',
    ),
    'errors that it understands': [
      ...e2e(
        'clients',
        'a prompt that is too long says so in the words it compacts on (...)',
        'a body that is too large is a 413 it recognises',
      ),
      ...e2e('credentials', 'every refusal of a key is 401 in the dialect of the path, and says nothing of the key'),
      ...e2e(
        'money',
        'an empty balance is refused with 402 in every dialect, before anything is sent, and still sees its usage',
      ),
    ],
    'its web search': e2e('clients', 'its web search goes to a provider that can search'),
    'its work on other groups': [
      ...e2e('clients', 'context management has no effect elsewhere, and the answer says so'),
      ...e2e('agents', 'works through ... requests on the ... group'),
    ],
  },
  Codex: {
    'its address': e2e('clients', 'the path without a version is the same'),
    'its endpoints': e2e(
      'clients',
      'a turn has the events it waits for (...)',
      'remote compaction is refused, so that it makes its own summary (...)',
      'its model list asks for a version of its own and gets a list',
    ),
    'its body': e2e(
      'clients',
      'everything it sends passes untouched to a provider of its own kind',
      'its cache key, its metadata and what to include are understood or left out (...)',
      'tools may come in the conversation (...)',
    ),
    'its tools': e2e(
      'clients',
      'a tool with a grammar is called with free text, and takes it back (...)',
      'a tool of a server is called by its namespace and name (...)',
      'hosted tools that the provider lacks are left out in silence (...)',
    ),
    'events that it waits for': e2e(
      'clients',
      'a turn has the events it waits for (...)',
      'finished items are whole (...)',
      'the end names the response and counts its tokens with details (...)',
    ),
    'how it takes failures': e2e(
      'clients',
      'an answer that breaks off is told as failed, and then it is over (...)',
      'a prompt that is too long is a code it compacts on, before the stream begins (...)',
      'a prompt that turns out too long inside the stream is told as failed with the code it compacts on',
      'a rate limit says how long to wait in the words it reads',
    ),
    'headers that it reads': e2e(
      'clients',
      'headers that it reads come back from a provider of its own kind, those about the account do not',
    ),
    'what it sends back': e2e(
      'clients',
      'reasoning comes back without ids and is understood (...)',
      'a picture in the output of a tool arrives (...)',
    ),
    'its socket': [
      ...e2e('clients', 'a GET of its path asks for the upgrade, and without one it goes on with POST'),
      ...e2e('socket', 'a second turn on the ... group continues from the first with only its delta'),
      ...e2e('socket-raw', 'frames pass both ways byte for byte, over one upstream socket'),
    ],
  },
  'Gemini CLI': {
    'its address': e2e('clients', 'tokens are counted', 'a key of another group gets a 404 of its own kind'),
    'its credentials': e2e('clients', 'all three ways to say the key work, and no key goes upstream'),
    'its headers': e2e('clients', 'its name goes along, its private header does not'),
    'its stream': e2e(
      'clients',
      'its stream is bare data blocks, each ended, with a finish reason and the usage on the last',
    ),
    'errors that it understands': e2e(
      'clients',
      'an error is JSON with code, status and details, also where a stream was asked for',
      'a rate limit carries the time to wait as RetryInfo',
    ),
    'its signatures': e2e('clients', 'signatures and their stand-in pass untouched'),
    'its model names': e2e('clients', 'small models for side tasks find their alias'),
  },
  'AI SDK': {
    'every provider of it, on every group': e2e(
      'clients-sdk',
      'a text is generated, and streams to the same',
      'a loop of three steps uses two tools',
      'a streamed loop of three steps uses two tools',
      'an object comes in the asked shape',
    ),
    'an error that comes first': e2e('convert-faults', 'a stream whose first event is an error becomes an HTTP error'),
    'references to stored items': e2e(
      'clients-sdk',
      'items that the AI SDK only refers to are put in for the ... group',
    ),
    'strict shapes of everything we tell': streams('the AI SDK reads a ... stream as it reads the whole answer'),
    'reasoning and signatures of a compatible chat': e2e(
      'opaque',
      'a ... client brings a signature back to the first of two calls, and none to the second',
    ),
  },
  'official SDKs': {
    'openai 6 and 7, chat': [
      ...streams('the official SDK ... of the chat dialect adds a stream up to the whole answer'),
      ...e2e('clients-sdk', 'runTools works through its calls, streamed or not'),
    ],
    'openai 6 and 7, responses': [
      ...streams('the official SDK ... of the responses dialect adds a stream up to the whole answer'),
      ...e2e('clients-sdk', 'responses.stream tells of text and calls while they come'),
    ],
    'openai, streams that break': e2e('convert-faults', '... is a failure to the official SDK'),
    'openai, parsed answers': e2e('clients-sdk', 'responses.parse and chat.completions.parse read what was asked for'),
    '@anthropic-ai/sdk 0.x and 1.x': [
      ...streams('the official SDK ... of the messages dialect adds a stream up to the whole answer'),
      ...e2e(
        'clients-sdk',
        '1.x runs its tools, streamed or not',
        '0.x runs its tools, streamed or not',
        '0.x and 1.x tell of text, thinking and input while they come',
      ),
    ],
    '@google/genai': [
      ...streams('the official SDK of the generate dialect reads every block of a stream'),
      ...e2e('native-sdk', 'content is generated, streamed and counted', 'errors are errors of the SDK'),
    ],
    'Python, which asks for compression': e2e(
      'clients',
      'a stream is not held back for compression, whatever the client would take (...)',
    ),
  },
};
