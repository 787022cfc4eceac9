/**
 * GET /v1/usage/requests/{request_id} (G 4.7): what one call cost, for the key that made it. For any other key its id
 * is unknown.
 */
import { type Clock, failAt, requestIdTime } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { recordOfRequest, unpackUsage } from '../../ledger/index.ts';
import { chargeOfRecord, findRequest } from '../../observe/request-log/index.ts';
import { type Db, firstRow, type Row } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { acquireSlot, type Limiter } from '../../providers/pool/index.ts';
import { CHARGE_READS, VIDEO_ENDPOINTS } from '../../rules/index.ts';
import type { RequestUsage } from '../../schemas/index.ts';

export interface RequestUsageServices {
  readonly db: Db;
  readonly clock: Clock;
  readonly limiter: Limiter;
}

/** The id of a call, and the only key that may know of it. */
type OwnCall = Parameters<typeof recordOfRequest>[1];

export async function getRequestUsage(services: RequestUsageServices, call: Call, { key }: Caller): Promise<void> {
  const { id: keyId, userId } = key;
  // A read is free, so it counts against its own limit alone.
  const rate = { operation: 'usage.request', rpm: CHARGE_READS.perMinute };
  await acquireSlot(services.limiter, call, { id: keyId, userId }, rate);
  const id = call.params.request_id ?? '';
  const found = await findSoon(services, call, { id, userId, keyId });
  if (!found)
    throw failAt(
      'request_not_found',
      'request_id',
      `this key has no finished call "${id.slice(0, 80)}"; use the x-request-id of a response, with the key that sent the request.`,
    );
  sendJson(call, 200, found, found.status === 'pending' ? { 'retry-after': '1' } : {});
}

/**
 * Ids begin with their time. Those outside of these times name no call, and an older one than an hour has ended long
 * ago.
 */
const FIRST_CALL = Date.UTC(2020, 0);
const CLOCK_MARGIN_MS = 60_000;
const RECENT_MS = 3_600_000;

/**
 * Looks again for a while: the charge of a call that has just ended is still in a journal, of this server or another
 * one.
 */
async function findSoon({ db, clock }: RequestUsageServices, call: Call, own: OwnCall) {
  const time = requestIdTime(own.id) ?? 0;
  if (time < FIRST_CALL || time > clock.now() + CLOCK_MARGIN_MS) return undefined;
  const background = await openBackground(db, own);
  if (background) return background;
  for (const pauseMs of [...(time > clock.now() - RECENT_MS ? CHARGE_READS.pausesMs : []), undefined]) {
    const found = await findUsage(db, own);
    if ((found && found.status !== 'pending') || pauseMs === undefined || call.isClientGone) return found;
    await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
  }
  return undefined;
}

async function findUsage(db: Db, own: OwnCall): Promise<RequestUsage | undefined> {
  const record = await recordOfRequest(db, own);
  const found = await findRequest(db, own.id, own.userId);
  const row = found?.key_id === own.keyId ? found : undefined;
  if (record) {
    const pricing = await chargeOfRecord(db, record, row);
    const { model, operation, estimated } = record;
    const usage = shownUsage(unpackUsage(record), record.images);
    return {
      ...usageView(own.id, 'charged'),
      at: record.at.toISOString(),
      model,
      operation,
      usage,
      estimated,
      charge: pricing.charge,
      pricing,
    };
  }
  if (!row) return undefined;
  const { model, operation, at } = row;
  const uncharged = isTask(operation) ? 'task' : 'not_charged';
  const status = row.nanos ? 'pending' : uncharged;
  return {
    ...usageView(own.id, status),
    at: at.toISOString(),
    model,
    operation,
    charge: status === 'not_charged' ? '0' : null,
  };
}

const usageView = (id: string, status: RequestUsage['status']) =>
  ({ object: 'usage.request', currency: 'USD', id, status, usage: null, estimated: null, pricing: null }) as const;

/** A response that its provider still makes. */
async function openBackground(db: Db, { id, userId, keyId }: OwnCall): Promise<RequestUsage | undefined> {
  const row = await firstRow(db)<Pick<Row<'background_responses'>, 'model' | 'created_at'>>`
    select model, created_at from background_responses
    where reference = ${`background:${id}`} and user_id = ${userId} and key_id = ${keyId} and state in ('sending', 'running')`;
  if (!row) return undefined;
  const at = row.created_at.toISOString();
  return { ...usageView(id, 'pending'), at, model: row.model, operation: 'responses.create', charge: null };
}

/** The record of a task has the id of the task, not that of the request that created it. */
const isTask = (operation: string): boolean =>
  operation in VIDEO_ENDPOINTS && VIDEO_ENDPOINTS[operation as keyof typeof VIDEO_ENDPOINTS].billing === 'metered';

/** The names that GET /v1/usage has, and those of rarer counts derived from ours. */
const NAMES: Readonly<Record<string, string>> = {
  input: 'input_tokens',
  cacheRead: 'cached_input_tokens',
  cacheWrite: 'cache_write_tokens',
  output: 'output_tokens',
  reasoning: 'reasoning_tokens',
};

function shownUsage(usage: object, images: number): Record<string, number> {
  const shown: Record<string, number> = images === 0 ? {} : { images };
  for (const [name, count] of Object.entries(usage))
    if (typeof count === 'number')
      shown[NAMES[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = count;
  return shown;
}
