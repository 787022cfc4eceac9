/**
 * The client side of `POST /v1/responses/compact`: the model writes a summary,
 * signed, that replaces all but the user's messages (`openSummaries`).
 */
import type { ClientSide, CompleteReply, ReplyContext } from '../../codec.ts';
import type { Fault } from '../../errors/fault.ts';
import type { HubItem, HubMessage, HubPart, HubReply, HubRequest, HubStop, JsonObject } from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import type { SignOpaque } from '../../opaque/sign.ts';
import { itemId, responseId } from '../../wire/ids.ts';
import { fieldNames } from '../fields.ts';
import { encodeUsage } from '../usage.ts';
import { decodeRequest } from './decode-request.ts';

export interface CompactionOptions {
  readonly sign: SignOpaque;
  /** The user's messages as items of the response with this id. */
  readonly userMessages: (responseId: string) => readonly JsonObject[];
}

/** Enough for the longest conversation, with the thinking of models that think first. */
const MAX_SUMMARY_TOKENS = 16_000;

const INSTRUCTION = [
  'Summarize the conversation above, so that another assistant can continue it from your summary alone.',
  'State the goal of the user, the decisions and facts that were established, what tools returned, what is done,',
  'and what remains to be done.',
  'Keep names, numbers, paths, identifiers and quoted text exactly.',
  'Write only the summary; do not answer or continue the conversation.',
].join(' ');

export const compactionClient = ({ sign, userMessages }: CompactionOptions): ClientSide => ({
  dialect: 'responses',
  fieldNames,
  // The summary is all that the client gets.
  replyForms: {
    style: 'responses',
    hasHosted: () => true,
    hasImages: true,
    hasAudio: true,
    citesDocuments: true,
    quotes: true,
  },
  decodeRequest: (body, head) => summaryRequest(decodeRequest(body, head)),
  faultIn,
  encodeReply(reply: HubReply, { created, issuer }: ReplyContext): JsonObject {
    const id = responseId('resp_', reply.id);
    const summary = { issuer, kind: 'summary', data: textOf(reply.items) } as const;
    const users = userMessages(id);
    return {
      id,
      object: 'response.compaction',
      created_at: created,
      output: [
        ...users,
        {
          id: itemId('cmp', id, users.length),
          type: 'compaction',
          encrypted_content: wrap({ ...summary, mac: sign(summary) }),
        },
      ],
      usage: encodeUsage(reply.usage),
    };
  },
  openEncoder() {
    throw new TypeError('a compaction is never streamed');
  },
});

/** Settings of the conversation do not apply to its summary. */
function summaryRequest(request: HubRequest): HubRequest {
  const { allowedTools: _allowed, parallelTools: _parallel, ...rest } = request;
  const instruction: HubMessage = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: INSTRUCTION }] };
  return {
    ...rest,
    stream: false,
    items: [...request.items.flatMap(readableItem), instruction],
    tools: [],
    toolChoice: { kind: 'auto' },
    reasoning: {},
    output: { format: { kind: 'text' } },
    limits: { maxOutput: MAX_SUMMARY_TOKENS },
    sampling: {},
    state: { ...request.state, store: false },
  };
}

/** Calls and results become text: without their tools, providers reject them. */
function readableItem(item: HubItem): HubItem[] {
  switch (item.kind) {
    case 'message':
    case 'compaction':
      return [item];
    case 'tool_call':
      return [message('assistant', [`[called the tool ${item.name} with: ${item.args}]`])];
    case 'tool_result':
      return [message('user', ['[the tool returned:]', ...item.parts.map(readablePart)])];
    case 'server_call':
      return item.queries ? [message('assistant', [`[searched for: ${item.queries.join('; ')}]`])] : [];
    default:
      return [];
  }
}

function readablePart(part: HubPart): HubPart | string {
  if (part.kind === 'json') return JSON.stringify(part.value);
  return part.kind === 'search_result' ? [part.title, ...part.texts].join('\n') : part;
}

const message = (role: 'user' | 'assistant', parts: readonly (HubPart | string)[]): HubMessage => ({
  kind: 'message',
  role,
  parts: parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part)),
});

const COMPLETE: ReadonlySet<HubStop> = new Set<HubStop>(['end', 'stop_sequence']);

/** History would be missing after an unfinished summary. */
function faultIn({ items, stop }: CompleteReply): Fault | undefined {
  if (COMPLETE.has(stop) && textOf(items) !== '') return undefined;
  const problem = `The model did not finish a summary (stop reason: ${stop})`;
  const message = `${problem}; send fewer input items, or use another model.`;
  return { kind: 'no_result', error: { code: 'upstream_error', message } };
}

const textOf = (items: readonly HubItem[]): string =>
  items
    .flatMap((item) => (item.kind === 'message' ? item.parts : []))
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('')
    .trim();
