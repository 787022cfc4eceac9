/**
 * The field that an upstream blames for a refusal, under the name by which the client sent it. Only what maps without a guess:
 * positions inside the conversation differ from dialect to dialect, and a field that the client has not sent is never named.
 */
import type { Dialect } from '../rules/index.ts';
import type { Codec } from './codec.ts';
import type { Pair } from './convert.ts';
import type { Place } from './errors/rejection.ts';
import { HUB_FIELDS, type HubField, isPresent } from './hub/fields.ts';
import type { HubError, HubRequest } from './hub/types.ts';

export function withClientField(pair: Pair, request: HubRequest, error: HubError): HubError {
  const { param, ...rest } = error;
  if (param === undefined) return error;
  const own = clientField(pair, request, param);
  return own === undefined ? rest : { ...rest, param: own };
}

function clientField({ client, upstream }: Pair, request: HubRequest, param: string): string | undefined {
  const path = upstream.dialect === 'generate' ? camel(param) : param;
  const closest = SENT.filter(({ isSent }) => isSent(request))
    .map(({ field }) => ({ field, name: nameOf(upstream, field) }))
    .filter(({ name }) => isWithin(path, name))
    .sort((a, b) => b.name.length - a.name.length)[0];
  return (closest && nameOf(client, closest.field)) || undefined;
}

type Field = Exclude<HubField, 'userId'> | Place | 'maxOutput' | 'system' | 'model';

const SENT: readonly { readonly field: Field; isSent(request: HubRequest): boolean }[] = [
  { field: 'conversation', isSent: () => true },
  { field: 'model', isSent: () => true },
  { field: 'system', isSent: ({ system }) => system.length > 0 },
  { field: 'maxOutput', isSent: ({ limits }) => limits.maxOutput !== undefined },
  { field: 'tools', isSent: ({ tools }) => tools.some(({ kind }) => kind !== 'server') },
  { field: 'toolChoice', isSent: ({ toolChoice }) => toolChoice.kind !== 'auto' },
  // A user's name has two fields in some dialects; which one was sent is not known any more.
  ...HUB_FIELDS.filter((field) => field !== 'userId').map((field) => ({
    field,
    isSent: (request: HubRequest) => isPresent(field, request),
  })),
];

/** Fields that no fate table needs; absent where the dialect has no field of its own, or two. */
const OTHERS: Readonly<Record<'maxOutput' | 'system' | 'model', Partial<Record<Dialect, string>>>> = {
  maxOutput: {
    messages: 'max_tokens',
    responses: 'max_output_tokens',
    generate: 'generationConfig.maxOutputTokens',
  },
  system: { messages: 'system', responses: 'instructions', chat: 'messages', generate: 'systemInstruction' },
  model: { messages: 'model', responses: 'model', chat: 'model' },
};

/** Empty where the dialect has none. */
const nameOf = ({ dialect, client }: Codec, field: Field): string =>
  field === 'maxOutput' || field === 'system' || field === 'model'
    ? (OTHERS[field][dialect] ?? '')
    : client.fieldNames[field];

const isWithin = (path: string, name: string): boolean =>
  name !== '' && path.startsWith(name) && /^(?:$|[.[])/.test(path.slice(name.length));

/** Both spellings are in use: `generation_config.top_k` and `generationConfig.topK`. */
const camel = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
