/**
 * Differences that are meant, by rule: what the other wire format cannot carry, and what the gateway states it does.
 */
import type { Difference, Replay } from './outcome.ts';
import { type JsonRecord, jsonOf, recordOf, textOf } from './recording.ts';

export interface KnownRow {
  readonly rule: string;
  readonly why: string;
  readonly applies: (difference: Difference, replay: Replay) => boolean;
}

const loss = (difference: Difference, member: RegExp): boolean =>
  difference.what.startsWith('silent loss of ') && member.test(difference.what.slice('silent loss of '.length));

export const KNOWN: readonly KnownRow[] = [
  {
    rule: 'cache lifetime',
    why: 'providers that cache every prefix by themselves have no lifetime to choose',
    applies: (difference, { provider }) => loss(difference, /cache_control\.ttl$/) && provider !== 'messages',
  },
  {
    rule: 'prompt_cache_key',
    why: 'it selects the account, and with it the cache',
    applies: (difference) => loss(difference, /^prompt_cache_key$/),
  },
  {
    rule: 'small output limit',
    why: 'the responses API takes no limit below 16 tokens',
    applies: (difference, { provider }) =>
      provider === 'responses' && loss(difference, /^max_\w*tokens$/) && Number(difference.expected) < 16,
  },
  {
    rule: 'large output limit',
    why: 'it becomes the limit of the model, where that is lower',
    applies: (difference) => loss(difference, /^max_\w*tokens$/) && Number(difference.expected) > 64_000,
  },
  {
    rule: 'allowed tools',
    why: 'a provider without a list of allowed tools gets only those',
    applies: (difference, { recording }) =>
      loss(difference, /^tools\./) && recordOf(recording.request?.json.tool_choice).type === 'allowed_tools',
  },
  {
    rule: 'pictures for messages clients',
    why: 'replies of this dialect have no image block; a text stands where the picture was',
    applies: ({ what }, { way, client, recording: { dialect } }) =>
      way === 'answer' &&
      client === 'messages' &&
      (dialect === 'generate' || dialect === 'responses') &&
      what === 'images',
  },
  {
    rule: 'contradiction in a stream',
    why: 'a text that differs from its deltas at the end; the client has the deltas already',
    applies: ({ what }, { way, recording: { dialect, events } }) =>
      way === 'answer' &&
      dialect === 'responses' &&
      what === 'text' &&
      events.some((event) => contradicts(event, events)),
  },
  {
    rule: 'no call wanted',
    why: 'Converse cannot be told to call nothing, so it gets no tools',
    applies: (difference, { provider, recording }) =>
      provider === 'converse' &&
      loss(difference, /^tool(?:s\.|_choice)/) &&
      [recording.request?.json.tool_choice, recordOf(recording.request?.json.tool_choice).type].includes('none'),
  },
  {
    rule: 'summary of reasoning',
    why: 'a chat server has no choice of summaries; the response contains what it shows',
    applies: (difference, { provider }) =>
      provider === 'chat' && loss(difference, /^reasoning\.(?:generate_)?summary$/),
  },
  {
    rule: 'names of documents',
    why: 'Converse takes letters, digits, spaces and brackets in them; the extension is the format of the document',
    applies: (difference, { provider }) => provider === 'converse' && loss(difference, /\.(?:filename|title)$/),
  },
  {
    rule: 'tag in a text',
    why: 'a model at Bedrock wrote `<think>` into its text; the reader of this replay takes that for reasoning in a chat response',
    applies: ({ what }, { client, provider, recording: { body } }) =>
      client === 'chat' && provider === 'converse' && /^(?:text|thinking)$/.test(what) && body.includes('<think>'),
  },
  {
    rule: 'missing counts',
    why: 'tokens that a provider does not count are estimated, so that they are not free',
    applies: ({ what, expected, found }, { way }) =>
      way === 'answer' && what === 'tokens' && fillsZeros(expected, found),
  },
  {
    rule: 'enums as numbers',
    why: 'the recorded request asks for them by `$alt`, which the gateway rejects by name and never sends',
    applies: (_, { way, recording: { request } }) => way === 'answer' && /enum-encoding/.test(request?.query ?? ''),
  },
  {
    rule: 'stop sequences',
    why: 'where a provider has no field for them, the gateway cuts the text itself',
    applies: (difference) => loss(difference, /^stop(?:_sequences)?$/),
  },
  {
    rule: 'prefill',
    why: "the rejection has the wording of the provider's own, which clients recognise",
    applies: ({ what, found }) =>
      what === 'status' && found.startsWith('400') && found.includes('assistant message prefill'),
  },
  {
    rule: 'rejected credential',
    why: 'it is about the account, which callers do not have',
    applies: ({ what, found }, { recording: { status, body } }) =>
      what === 'status' && status === 400 && found.startsWith('503') && /api[ _]key/i.test(body.toString('utf8')),
  },
  {
    rule: 'cached content of another account',
    why: 'the gateway serves cached contents of its own users only',
    applies: ({ what, found }) => what === 'status' && found.startsWith('404') && found.includes('No cached content'),
  },
  {
    rule: 'missing model',
    why: 'a rejection about the model is model_not_found with 404, whatever the status of the provider',
    applies: ({ what, found }) => what === 'status' && found.startsWith('404') && found.includes('model_not_found'),
  },
];

/** The second has a figure where the first has none, and is otherwise the same. */
function fillsZeros(expected: string, found: string): boolean {
  const counts = recordOf(jsonOf(found));
  return Object.entries(recordOf(jsonOf(expected))).every(([name, count]) => count === 0 || count === counts[name]);
}

function contradicts({ type, item_id, content_index, text }: JsonRecord, events: readonly JsonRecord[]): boolean {
  if (type !== 'response.output_text.done') return false;
  const deltas = events.filter(
    (event) =>
      event.type === 'response.output_text.delta' && event.item_id === item_id && event.content_index === content_index,
  );
  return !textOf(text).startsWith(deltas.map(({ delta }) => textOf(delta)).join(''));
}

export const knownRule = (difference: Difference, replay: Replay): KnownRow | undefined =>
  KNOWN.find(({ applies }) => applies(difference, replay));
