/** A request as it would be read for one way of its plan: what it may cost there, and which accounts may serve it. */
import { capabilitiesFor, type Model } from '../../catalog/index.ts';
import { hasOpaque, pairOf } from '../../dialects/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { ExplainedWay } from '../../schemas/index.ts';
import type { CallFacts } from '../billing/call-facts.ts';
import { wayError } from '../client-error.ts';
import type { ConvertedServices } from '../converted/context.ts';
import { conversionFacts } from '../converted/convert-call.ts';
import { encodeJob } from '../converted/encode.ts';
import { upstreamName } from '../models/resolve.ts';
import { placeAgain, type Way } from '../plan.ts';
import type { ReadServices, RequestRead } from '../read-request.ts';
import { jobOwner } from '../services.ts';

export interface WayServices extends ReadServices, Pick<ConvertedServices, 'accountTag'> {}

export interface WayRequest {
  /** With the accounts that have what the request names. */
  readonly way: Way;
  readonly facts: CallFacts;
  readonly opaque: ExplainedWay['opaque'];
  readonly dropped: readonly string[];
  readonly accountId?: string | undefined;
}

export interface Asked {
  readonly call: Call;
  readonly read: RequestRead;
  readonly way: Way;
}

/** Rejects with the error that a call has on this way. */
export async function requestFor(services: WayServices, asked: Asked): Promise<WayRequest> {
  const { model } = asked.way;
  if (!model) throw new TypeError('a request for a reply names a model');
  return asked.way.isNative
    ? readNative(services, asked, model)
    : readConverted(services, asked, model).catch((error: unknown) => Promise.reject(wayError(error)));
}

async function readNative({ catalog }: WayServices, { call, read, way: planned }: Asked, model: Model) {
  const request = await read.parts.native();
  const way = placeAgain(request, planned, catalog());
  const { bounds, tiers } = request;
  const [account] = way.accounts;
  const rest = account && (await request.withoutOpaque?.());
  const sizeOf = (one: typeof request) => (account && one.bodyFor(upstreamName(model, account), false)?.length) ?? 0;
  return {
    way,
    facts: { ...bounds, operation: read.operation, model, tiers, others: way.others },
    opaque: rest && sizeOf(rest) < sizeOf(request) ? ('kept' as const) : ownOpaque(call),
    dropped: [],
    accountId: way.boundTo,
  };
}

/** Encodes it for the first account, whose server may not have a form for it. Fetches no media. */
async function readConverted(services: WayServices, { call, read, way }: Asked, model: Model) {
  const { caller, accounts, dialect: to } = way;
  const decoded = await read.parts.hub(caller);
  if ('held' in decoded) throw decoded.held.notFound;
  const { request, size } = decoded;
  const pair = pairOf({ client: read.from, upstream: to });
  const [account] = accounts;
  let dropped: readonly string[] = [];
  if (account) {
    const name = upstreamName(model, account);
    const capabilities = capabilitiesFor(caller.group.style, { ...model, upstream: name }, { account, dialect: to });
    const target = { model: name, capabilities, account: services.accountTag(account.id) };
    const input = { request, to, target, removed: [], dropped: [] };
    dropped = (await services.threads.run(encodeJob, input, jobOwner(call, caller, size))).encoded.dropped;
  }
  const carried = dropped.includes(pair.client.fieldNames.thoughts) ? 'left_out' : 'kept';
  return {
    way,
    facts: conversionFacts(read.operation, pair, model, decoded),
    opaque: hasOpaque(request) ? carried : ownOpaque(call),
    dropped,
  };
}

/** How every opaque value of this gateway begins. None of them reaches a provider that did not issue it. */
const ENVELOPE = Buffer.from('"gw1');
const ownOpaque = ({ body }: Call): ExplainedWay['opaque'] => (body?.includes(ENVELOPE) ? 'left_out' : 'none');
