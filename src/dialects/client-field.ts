/** Translates the field that an upstream error names into the client's, where that is exact and the client sent it. */
import type { ClientDialect, UpstreamDialect } from '../rules/index.ts';
import type { ClientSide, UpstreamSide } from './codec.ts';
import type { Pair } from './convert.ts';
import { HUB_FIELDS, type HubField, isPresent, type RequestSection } from './hub/fields.ts';
import type { HubError, HubRequest } from './hub/types.ts';

export function withClientField(pair: Pair, request: HubRequest, error: HubError): HubError {
  const { param, ...rest } = error;
  if (param === undefined) return error;
  const field = clientField(pair, request, param);
  return field === undefined ? rest : { ...rest, param: field };
}

function clientField({ client, upstream }: Pair, request: HubRequest, param: string): string | undefined {
  const path = upstream.dialect === 'generate' ? camel(param) : param;
  const closest = SENT.filter(({ isSent }) => isSent(request))
    .map(({ field }) => ({ field, name: nameOf(upstream, field) }))
    .filter(({ name }) => isWithin(path, name))
    .sort((a, b) => b.name.length - a.name.length)[0];
  return (closest && nameOf(client, closest.field)) || undefined;
}

type Field = Exclude<HubField, 'userId'> | RequestSection | 'maxOutput' | 'system' | 'model';

const SENT: readonly { readonly field: Field; isSent(request: HubRequest): boolean }[] = [
  { field: 'conversation', isSent: () => true },
  { field: 'model', isSent: () => true },
  { field: 'system', isSent: ({ system }) => system.length > 0 },
  { field: 'maxOutput', isSent: ({ limits }) => limits.maxOutput !== undefined },
  { field: 'tools', isSent: ({ tools }) => tools.some(({ kind }) => kind !== 'server') },
  { field: 'toolChoice', isSent: ({ toolChoice }) => toolChoice.kind !== 'auto' },
  // Some dialects have two fields for the user id, and the hub does not record which one the client sent.
  ...HUB_FIELDS.filter((field) => field !== 'userId').map((field) => ({
    field,
    isSent: (request: HubRequest) => isPresent(field, request),
  })),
];

/** Names of the fields outside the support tables; absent where the dialect has no such field, or two. */
const OTHER_NAMES: Readonly<
  Record<'maxOutput' | 'system' | 'model', Partial<Record<ClientDialect | UpstreamDialect, string>>>
> = {
  maxOutput: {
    messages: 'max_tokens',
    responses: 'max_output_tokens',
    generate: 'generationConfig.maxOutputTokens',
  },
  system: { messages: 'system', responses: 'instructions', chat: 'messages', generate: 'systemInstruction' },
  model: { messages: 'model', responses: 'model', chat: 'model', images: 'model' },
};

/** Empty if the dialect has no such field. */
const nameOf = ({ dialect, fieldNames }: ClientSide | UpstreamSide, field: Field): string =>
  field === 'maxOutput' || field === 'system' || field === 'model'
    ? (OTHER_NAMES[field][dialect] ?? '')
    : fieldNames[field];

const isWithin = (path: string, name: string): boolean =>
  name !== '' && path.startsWith(name) && /^(?:$|[.[])/.test(path.slice(name.length));

/** Providers use both spellings: `generation_config.top_k` and `generationConfig.topK`. */
const camel = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
