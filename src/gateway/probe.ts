/**
 * A real, tiny streamed request to one account, paid by the operator:
 * as a probe that changes no cooldown, or as a test whose outcome counts.
 */
import {
  type Account,
  capabilitiesFor,
  type Group,
  isUsable,
  type Model,
  type ModelLine,
  priceAt,
  redact,
} from '../catalog/index.ts';
import { ApiError, EVENT_STREAM, isEventStream, isGlob, matchesGlob, readSse } from '../core/index.ts';
import { codecOf, type HubEvent, type UpstreamSide, upstreamOf } from '../dialects/index.ts';
import { parseRates } from '../ledger/index.ts';
import { type WholeResponse, wholeResponse } from '../platform/http/index.ts';
import type { AttemptFault } from '../providers/pool/index.ts';
import type { TransportError, UpstreamClient, UpstreamRequest } from '../providers/upstream/index.ts';
import * as rules from '../rules/index.ts';
import { faultKindOf } from './client-error.ts';
import { failureMessage } from './failure-reason.ts';
import { offeredModels } from './models/listing.ts';
import { upstreamName } from './models/resolve.ts';
import type { GatewayServices } from './services.ts';
import { encodedHeaders, UPSTREAM_PATHS, upstreamRequest } from './upstream-request.ts';

export type ProbeServices = Pick<GatewayServices, 'clock' | 'upstream' | 'catalog'>;

export interface ProbeResult {
  readonly ok: boolean;
  readonly status: number | null;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  /**
   * The provider's own error message without secrets, the code of a network error,
   * or why nothing was sent; null when `ok`.
   */
  readonly message: string | null;
  readonly model: string | null;
  /** What the outcome says about the account; undefined when `ok` or nothing was sent. */
  readonly fault?: AttemptFault | undefined;
}

const TIME_LIMIT_MS = 30_000;
const TIMEOUTS = { connect: 5_000, firstByte: TIME_LIMIT_MS, idle: TIME_LIMIT_MS, total: TIME_LIMIT_MS };
/** Some providers refuse less. */
const MAX_OUTPUT = 16;
/** A reply of this size cannot have so few tokens. */
const MAX_BYTES = 256 * 1024;
const MAX_MESSAGE_CHARS = 300;

/** `modelName` is a model of the group; without it the cheapest one by its price in the catalog. Never throws. */
export async function probeAccount(services: ProbeServices, group: Group, account: Account, modelName?: string) {
  const target = await probeTarget(services, group, account, modelName);
  return typeof target === 'string' ? { ...NOT_SENT, message: UNTESTABLE[target] } : sendProbe(services, target);
}

type Untestable = 'video' | 'no_text' | 'no_model' | 'no_price' | 'unknown_model';
const UNTESTABLE: Readonly<Record<Untestable, string>> = {
  video: 'Video accounts are not tested, because a task costs money.',
  no_text: 'The account has no feature that answers a text request.',
  no_model:
    'No text model of the group has a fixed name, and the provider lists none that matches; name a model to test with.',
  no_price: 'No text model of the group has a price; set one, or name a model to test with.',
  unknown_model: 'The group has no such model.',
};

async function probeTarget(services: ProbeServices, group: Group, account: Account, modelName?: string) {
  const { id, style } = group;
  if (style === 'video') return 'video';
  const dialect = dialectOf(style, account);
  if (!dialect) return 'no_text';
  const hasNames = modelName !== undefined || textLines(services, id).length > 0;
  const matching = hasNames ? undefined : await matchingName(services, { id, style }, account);
  const model = hasNames || matching !== undefined ? modelFor(services, id, modelName ?? matching) : undefined;
  if (!model && modelName !== undefined) return 'unknown_model';
  if (!model) return hasNames ? 'no_price' : 'no_model';
  return { style, account, model, dialect, name: upstreamName(model, account) };
}

const NOT_SENT: ProbeResult = { ok: false, status: null, firstByteMs: null, totalMs: 0, message: null, model: null };

const dialectOf = (style: rules.Style, { features }: Account): rules.UpstreamDialect | undefined =>
  [...rules.FEATURES[style], 'converse' as const].filter(isDialect).find((name) => features.has(name));

const isDialect = (feature: string): feature is rules.UpstreamDialect =>
  rules.UPSTREAM_DIALECTS.some((name) => name === feature);

function modelFor({ catalog, clock }: ProbeServices, id: string, name: string | undefined): Model | undefined {
  if (name !== undefined) return catalog().resolve(id, name);
  const now = clock.now();
  const priced = textLines({ catalog }, id).filter((line) => isUsable(line, now));
  const [cheapest] = priced.toSorted((a, b) => outputRate(a, now) - outputRate(b, now));
  return cheapest && catalog().resolve(id, cheapest.pattern);
}

/** Names of models that are small, and of those that do not answer with text. */
const SMALL = /mini|nano|haiku|flash|lite|small/i;
const NO_TEXT = /image|audio|realtime|live|tts|speech|transcribe|whisper|moderation|dall-e|imagen|veo|video|search/i;

/** For a group of patterns: a name that the account translates or its provider lists, a small model if there is one. */
async function matchingName(
  { catalog, clock, upstream }: ProbeServices,
  { id, style }: { readonly id: string; readonly style: rules.Style },
  account: Account,
): Promise<string | undefined> {
  const lines = catalog().lines(id);
  const usable = lines.filter((line) => line.overrides.imageOutput !== true && isUsable(line, clock.now()));
  const fixed = usable.find((line) => line.upstream !== null);
  if (fixed) return fixed.pattern.replaceAll('*', '');
  const isTested = (name: string): boolean =>
    !isGlob(name) &&
    !NO_TEXT.test(name) &&
    !rules.isEmbeddingModel(name) &&
    usable.some(({ pattern }) => matchesGlob(pattern, name));
  const known = [...account.models.keys()].filter(isTested);
  const names =
    known.length > 0 ? known : (await offeredModels(upstream, style, account).catch(() => [])).filter(isTested);
  return names.find((name) => SMALL.test(name)) ?? names[0];
}

const textLines = ({ catalog }: Pick<ProbeServices, 'catalog'>, id: string): readonly ModelLine[] =>
  catalog()
    .lines(id)
    .filter((line) => !isGlob(line.pattern) && line.overrides.imageOutput !== true);

/** Models without a price for output, such as those for embeddings, come last. */
function outputRate(line: ModelLine, now: number): number {
  const price = priceAt(line, now);
  if (!price) return Number.MAX_SAFE_INTEGER;
  return Number(parseRates(price.rates).output ?? Number.MAX_VALUE);
}

interface ProbeTarget {
  readonly style: rules.Style;
  readonly account: Account;
  readonly model: Model;
  readonly dialect: rules.UpstreamDialect;
  readonly name: string;
}

function requestFor({ style, account, model, dialect, name }: ProbeTarget): UpstreamRequest {
  const hub = codecOf('chat').client.decodeRequest(
    { model: name, messages: [{ role: 'user', content: 'Reply: ok' }], max_tokens: MAX_OUTPUT, stream: true },
    { headers: {} },
  );
  const { body, headers } = upstreamOf(dialect).encodeRequest(
    { ...hub, state: { store: false } },
    { model: name, capabilities: capabilitiesFor(style, { ...model, upstream: name }, { account, dialect }) },
  );
  return upstreamRequest(rules.styleOf(dialect, style), account, {
    method: 'POST',
    path: UPSTREAM_PATHS[dialect](name, true),
    model: name,
    headers: encodedHeaders(headers),
    body: JSON.stringify(body),
    timeouts: TIMEOUTS,
  });
}

/** What the transport says in our words. */
const OWN_WORDS: Readonly<Record<string, string>> = {
  TOTAL_TIME: `No complete response within ${TIME_LIMIT_MS / 1000} s.`,
  TOO_LARGE: `The reply is larger than ${MAX_BYTES / 1024} KiB.`,
};

async function sendProbe({ clock, upstream }: ProbeServices, target: ProbeTarget): Promise<ProbeResult> {
  const begunAt = clock.elapsed();
  const sinceBegun = (): number => Math.round((clock.elapsed() - begunAt) * 10) / 10;
  const seen: { status: number | null; firstByteMs: number | null } = { status: null, firstByteMs: null };
  const send: UpstreamClient['send'] = (request, listener) =>
    upstream.send(request, {
      ...listener,
      onHead(status, headers) {
        seen.status = status;
        listener.onHead(status, headers);
      },
      onData(chunk) {
        seen.firstByteMs ??= sinceBegun();
        return listener.onData(chunk);
      },
    });
  const response = await wholeResponse({ send }, requestFor(target), MAX_BYTES);
  const outcome = 'code' in response ? brokenBy(response) : outcomeOf(target, response);
  const message = outcome ? messageFor(target, outcome) : null;
  const { name: model } = target;
  return { ok: !outcome, ...seen, totalMs: sinceBegun(), message, model, fault: outcome?.fault };
}

interface Failure {
  readonly fault: AttemptFault;
  readonly message: string;
}

function brokenBy({ kind, code }: TransportError): Failure {
  const message = OWN_WORDS[code];
  return message === undefined ? { fault: { kind, providerCode: code }, message: code } : { fault: { kind }, message };
}

/** Undefined for a reply without a failure. */
function outcomeOf({ dialect, account }: ProbeTarget, response: WholeResponse): Failure | undefined {
  const { status, headers } = response;
  const body = response.body.toString('utf8');
  const upstream = upstreamOf(dialect);
  if (status < 200 || status >= 300) {
    const { kind, cooldownMs, providerCode = `http_${status}` } = upstream.decodeError({ status, headers, body });
    const message = failureMessage(body, account);
    const shown = message ?? `The provider responded with HTTP ${status} and no error message.`;
    return { fault: { kind, cooldownMs, providerCode, message }, message: shown };
  }
  const failed = (kind: rules.FaultKind, code: string, message: string): Failure => ({
    fault: { kind, providerCode: code, message: redact(message, { account }) },
    message,
  });
  // Some servers respond to a stream request with one JSON body.
  if (!isEventStream(headers['content-type'] ?? EVENT_STREAM)) {
    try {
      upstream.decodeReply(JSON.parse(body), { requestId: 'probe' });
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return failed(faultKindOf(error.code), error.code, error.message);
      return { fault: { kind: 'failed' }, message: 'The response is neither a stream nor JSON.' };
    }
  }
  const { events, reported, end } = readEvents(upstream, body, account);
  const error = [...events, ...end].find((event) => event.kind === 'error')?.error;
  if (!error || events.some(({ kind }) => kind === 'finish')) return undefined;
  const kind = events.some((event) => event.kind === 'error') ? faultKindOf(error.code) : 'truncated';
  return failed(kind, error.code, reported ?? error.message);
}

/** A provider may fail inside a response that began with success. `reported`: its own words. */
function readEvents(upstream: UpstreamSide, body: string, account: Account) {
  const decoder = upstream.openDecoder({ requestId: 'probe' });
  const events: HubEvent[] = [];
  let reported: string | undefined;
  const reader = readSse((data, event) => {
    const decoded = decoder.push(data, event);
    events.push(...decoded);
    if (decoded.some(({ kind }) => kind === 'error')) reported ??= failureMessage(data, account);
  });
  reader.feed(body);
  reader.end({ keepTail: true });
  return { events, reported, end: decoder.end() };
}

/** With what an operator can do about an error of a cloud. */
function messageFor({ account }: ProbeTarget, { fault, message }: Failure): string {
  const advice = rules.cloudAdvice(account.cloud?.kind, `${fault.providerCode ?? ''} ${message}`);
  const said = redact(message, { account }).slice(0, MAX_MESSAGE_CHARS);
  return advice === undefined ? said : `${said}; ${advice}`;
}

type Services = Pick<GatewayServices, 'catalog' | 'pool' | 'upstream' | 'clock'>;

/** The result; or why nothing was sent. */
export async function testAccount(services: Services, accountId: string, modelName: string | undefined) {
  const catalog = services.catalog();
  const account = catalog.allAccounts().find(({ id }) => id === accountId);
  const group = account && catalog.group(account.groupId);
  if (!account || !group) return 'unknown_account';
  const target = await probeTarget(services, group, account, modelName);
  if (typeof target === 'string') return target;
  const lease = services.pool.leaseForTest(account, { model: target.model.upstream, operation: 'reply' });
  const result = await sendProbe(services, target);
  const { fault } = result;
  lease.release(fault && (rules.faultRow(fault.kind).showsMessage ? fault : { ...fault, message: undefined }));
  return result;
}
