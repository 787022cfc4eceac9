/**
 * A conversation that ends with an assistant message: history in the OpenAI dialects;
 * in the others the beginning of the reply, which few models continue.
 */
import type { Capabilities, ClientDialect, UpstreamDialect } from '../../rules/index.ts';
import { rejectPrefill } from '../errors/rejection.ts';
import type { HubItem, HubRequest } from '../hub/types.ts';

export function withLastTurn(
  request: HubRequest,
  upstream: UpstreamDialect,
  { prefill }: Pick<Capabilities, 'prefill'>,
): HubRequest {
  const { items, dialect } = request;
  const last = items.at(-1);
  if (prefill || last?.kind !== 'message' || last.role !== 'assistant' || isPaused(items)) return request;
  if (!isOpenai(dialect)) return rejectPrefill();
  return isOpenai(upstream) ? request : { ...request, items: [...items, CONTINUE] };
}

const isOpenai = (dialect: ClientDialect | UpstreamDialect): boolean => dialect === 'chat' || dialect === 'responses';

const CONTINUE: HubItem = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Continue.' }] };

/** A turn with hosted tools is continued by the provider itself. */
function isPaused(items: readonly HubItem[]): boolean {
  const start = items.findLastIndex(
    (item) => item.kind === 'tool_result' || (item.kind === 'message' && item.role !== 'assistant'),
  );
  return items.slice(start + 1).some(({ kind }) => kind === 'server_call' || kind === 'opaque');
}
