/**
 * The plan of a call that is not sent: its request is read for every way,
 * and compared with accounts, price and wallet. Shows nothing of the body.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Key } from '../../access/keys/index.ts';
import { type Account, fallbackTarget, priceAt } from '../../catalog/index.ts';
import * as core from '../../core/index.ts';
import { InsufficientBalance } from '../../ledger/index.ts';
import { Call } from '../../platform/web/index.ts';
import type { AccountUse, Pool } from '../../providers/pool/index.ts';
import * as rules from '../../rules/index.ts';
import type { ExplainedWay, LeftOut, LeftOutReason, ShownExplanation } from '../../schemas/index.ts';
import { RunSink } from '../background/run-sink.ts';
import { quoteCall } from '../billing/admission.ts';
import { withAdvice } from '../billing/advice.ts';
import type { CallFacts } from '../billing/call-facts.ts';
import { type Caller, callersOf } from '../caller.ts';
import { endpointNotSupported, FULL, WayUnavailable } from '../client-error.ts';
import { chooseByModel } from '../key-groups.ts';
import { resolveModel } from '../models/resolve.ts';
import { begin, next, type Outcome, onlyReady } from '../next-step.ts';
import { channelsOf, type Plan, plan, type UnusedWay, type Way } from '../plan.ts';
import { type RequestRead, readRequest } from '../read-request.ts';
import { jobOwner } from '../services.ts';
import { minimalBody, modelJob } from './body.ts';
import { requestFor, type WayRequest, type WayServices } from './way-request.ts';

export interface ExplainServices extends WayServices {
  readonly pool: Pool;
  readonly balance: (userId: string) => Promise<{ readonly available: string }>;
  /** Throws or rejects when the amount does not fit the spend limits of the key and its user. */
  readonly checkSpend: (caller: Caller, nanos: core.Nanos) => core.MaybePromise<void>;
}

export interface ExplainedCall {
  readonly key: Key;
  readonly model: string;
  readonly dialect?: rules.Dialect | undefined;
  readonly body?: Buffer | undefined;
}

const OPERATIONS = {
  messages: 'messages.create',
  chat: 'chat.create',
  responses: 'responses.create',
  generate: 'generate.create',
} as const satisfies Record<rules.Dialect, rules.InferenceOperation>;
const dialectOf = (style: rules.Style): rules.Dialect => (style === 'generate-content' ? 'generate' : style);

export async function explainCall(services: ExplainServices, asked: ExplainedCall): Promise<ShownExplanation> {
  const { key, model } = asked;
  const catalog = services.catalog();
  const [first] = callersOf(catalog, key);
  if (!first) throw core.failAt('invalid_request', 'key', 'its group serves no text.');
  const inOrder = chooseByModel(catalog, { ...first, key: { ...key, prefer: 'order' } }, 'responses.create', model);
  const dialect = asked.dialect ?? dialectOf(inOrder.group.style);
  const caller = chooseByModel(catalog, first, OPERATIONS[dialect], model);
  const { method, path } = rules.inferenceRow(OPERATIONS[dialect]);
  const endpoint = `${method} ${path.replace('{model}', encodeURIComponent(model))}`;
  const { available } = await services.balance(key.userId);
  const wallet = core.parseNanos(available) ?? 0n;
  const explained = await new Explanation(services, { ...asked, caller, dialect, endpoint, wallet }).run();
  return {
    object: 'explanation',
    currency: 'USD',
    key: key.id,
    user: key.userId,
    group: caller.group.id,
    groups: key.groups,
    model,
    dialect,
    endpoint,
    minimal_body: asked.body === undefined,
    available,
    ...explained,
  };
}

interface Asked extends ExplainedCall {
  readonly caller: Caller;
  readonly dialect: rules.Dialect;
  readonly endpoint: string;
  readonly wallet: core.Nanos;
}

/** A way after the request was read for it. `shown` where it has a price; an error where it cannot serve the call. */
interface Candidate {
  readonly isOwn: boolean;
  readonly request?: WayRequest;
  readonly accounts: readonly Account[];
  readonly shown?: ExplainedWay;
  readonly error: core.ApiError | undefined;
  /** Its accounts are cooling down, full or parked. */
  busy?: core.ApiError | undefined;
}

type Explained = Pick<ShownExplanation, 'ways' | 'left_out' | 'way' | 'error'>;

class Explanation {
  readonly #services: ExplainServices;
  readonly #asked: Asked;
  readonly #operation: rules.InferenceOperation;
  readonly #leftOut: LeftOut[] = [];

  constructor(services: ExplainServices, asked: Asked) {
    this.#services = services;
    this.#asked = asked;
    this.#operation = OPERATIONS[asked.dialect];
  }

  async run(): Promise<Explained> {
    const { caller, endpoint } = this.#asked;
    const cell = rules.inferenceRow(this.#operation).groups[caller.group.style];
    if (cell.kind === 'refuse' || cell.kind === 'own') {
      this.#leaveOut('matrix', caller.group.id);
      return this.#outcome([], endpointNotSupported(endpoint, caller.group));
    }
    const call = this.#call();
    try {
      call.body = await this.#body(call);
      const request = await readRequest(this.#services, { call, caller, operation: this.#operation });
      const planned = plan(request, caller, this.#services.catalog());
      this.#noteUnused(request, planned);
      const candidates: Candidate[] = [];
      for (const way of planned.ways) candidates.push(await this.#candidate(call, request, way));
      return this.#outcome(candidates, this.#decide(planned, candidates));
    } catch (error) {
      if (!(error instanceof core.ApiError)) throw error;
      this.#leaveOut(REASONS[error.code] ?? 'request', caller.group.id, { detail: error.message });
      return this.#outcome([], error);
    } finally {
      call.response.destroy();
    }
  }

  #call(): Call {
    const { clock } = this.#services;
    const { key, endpoint, model } = this.#asked;
    const startedAt = clock.now();
    const operation = this.#operation;
    const path = endpoint.slice(endpoint.indexOf(' ') + 1);
    const request = { method: 'POST', url: path, version: '1.1', address: '', headers: {}, rawHeaders: [] } as const;
    const { errorFormat } = rules.inferenceRow(operation);
    const call = new Call({
      id: core.newRequestId(startedAt),
      operation,
      errorFormat,
      path,
      query: '',
      params: { model },
      address: '',
      startedAt,
      clock,
      response: new RunSink(() => {}),
      request: { ...request, isComplete: true, completeBody: undefined, read() {}, resume() {} },
    });
    call.owner = key.id;
    return call;
  }

  async #body(call: Call): Promise<Buffer> {
    const { body, dialect, model, caller } = this.#asked;
    if (!body) return minimalBody(dialect, model);
    if (dialect === 'generate') return body;
    const owner = jobOwner(call, caller, body.length);
    return core.bufferOf(await this.#services.threads.run(modelJob, { bytes: body, model }, owner));
  }

  #noteUnused(request: RequestRead, { ways, leftOut }: Plan): void {
    const { caller } = this.#asked;
    const catalog = this.#services.catalog();
    this.#noteGroup(caller, leftOut);
    const model = resolveModel(catalog, caller, request.model);
    for (const text of model.line.fallback) {
      const { groupId, name } = fallbackTarget(text, model.name);
      const group = catalog.group(groupId);
      const isPlanned = [...ways.map((way) => way.caller), ...leftOut].some((one) => one.group.id === groupId);
      if (!group || group.style === 'video' || !catalog.resolve(groupId, name))
        this.#leaveOut('no_line', groupId, { line: name });
      else if (!isPlanned) this.#leaveOut('bound_elsewhere', groupId, { line: name });
      else {
        const inGroup = { ...group, style: group.style };
        this.#noteGroup({ ...caller, group: inGroup, fallback: { line: text, model } }, leftOut);
      }
    }
  }

  /**
   * What the plan leaves out of a group: also better dialects that none of its accounts speaks,
   * and accounts that speak none.
   */
  #noteGroup(caller: Caller, leftOut: readonly UnusedWay[]): void {
    const { group } = caller;
    const catalog = this.#services.catalog();
    const cell = rules.inferenceRow(this.#operation).groups[group.style];
    const { channels } = channelsOf(catalog, caller, this.#operation);
    const used = new Set(channels.flatMap(({ accounts }) => accounts));
    const dialects =
      cell.kind === 'refuse' || cell.kind === 'own' ? [] : rules.waysOfCell(cell).map(({ dialect }) => dialect);
    const best = used.size === 0 ? dialects.length : dialects.indexOf(channels[0]?.dialect ?? 'chat');
    for (const { group: of, way, because, error } of leftOut) {
      const isWorse = because === 'accounts' && way && dialects.indexOf(way.dialect) >= best;
      if (of.id === group.id && because !== 'count' && !isWorse)
        this.#leaveOut(UNUSED[because], group.id, { dialect: way?.dialect ?? null, detail: error?.message ?? null });
    }
    if (used.size === 0) for (const { dialect } of channels) this.#leaveOut('no_account', group.id, { dialect });
    for (const account of catalog.accounts(group.id))
      if (!used.has(account)) this.#leaveOut('dialect', group.id, { account: account.id });
  }

  #leaveOut(reason: LeftOutReason, group: string, about: Partial<LeftOut> = {}): void {
    const one = { group, line: null, dialect: null, account: null, reason, detail: null, ...about };
    if (!this.#leftOut.some((known) => isDeepStrictEqual(known, one))) this.#leftOut.push(one);
  }

  async #candidate(call: Call, read: RequestRead, planned: Way): Promise<Candidate> {
    const { caller, dialect } = planned;
    const isOwn = caller.fallback === undefined;
    try {
      const request = await requestFor(this.#services, { call, read, way: planned });
      const { accounts } = request.way;
      this.#noteAccounts(request.way);
      const shown = this.#show(request);
      const none = accounts.length === 0 ? new WayUnavailable(core.fail('no_upstream_account'), 'out') : undefined;
      return { isOwn, request, accounts, shown, error: (await this.#refusal(caller, request.facts)) ?? none };
    } catch (error) {
      if (!(error instanceof core.ApiError)) throw error;
      const line = caller.fallback?.model.line.pattern ?? null;
      this.#leaveOut(REASONS[error.code] ?? 'request', caller.group.id, { line, dialect, detail: error.message });
      return { isOwn, accounts: [], error };
    }
  }

  /** Accounts that speak the dialect, and lack what the request names. */
  #noteAccounts({ caller, dialect, accounts, boundTo }: Way): void {
    const { channels } = channelsOf(this.#services.catalog(), caller, this.#operation);
    const all = channels.find((channel) => channel.dialect === dialect)?.accounts ?? [];
    for (const { id } of all.filter((account) => !accounts.includes(account)))
      if (boundTo === undefined) this.#leaveOut('feature', caller.group.id, { account: id, detail: 'objects' });
      else this.#leaveOut('bound_elsewhere', caller.group.id, { account: id, detail: boundTo });
  }

  /** Throws when the line has no price for the request. */
  #show({ way, facts, opaque, dropped }: WayRequest): ExplainedWay {
    const { clock, pool } = this.#services;
    const { caller, dialect, isNative, accounts } = way;
    const { group, key, fallback } = caller;
    const { maxCost, priceId } = quoteCall(caller, facts, clock.now());
    const { line, upstream } = facts.model;
    return {
      group: group.id,
      line: line.pattern,
      upstream_model: upstream,
      dialect,
      native: isNative,
      fallback: fallback !== undefined,
      opaque,
      dropped,
      accounts: accounts.map((account) => {
        const { state = 'healthy', reason = null, until } = pool.obstacle(account, this.#useOf(facts)) ?? {};
        return { account: account.id, state, reason, until: until ? new Date(until).toISOString() : null };
      }),
      price: priceId === null ? null : String(priceId),
      rates: (priceAt(line, clock.now())?.rates as ExplainedWay['rates'] | undefined) ?? null,
      group_multiplier: core.formatNanos(group.multiplierPpm * 1000n),
      user_multiplier: core.formatNanos(key.userMultiplierPpm * 1000n),
      max_cost: core.formatNanos(maxCost),
      covered: maxCost <= this.#asked.wallet,
      error: null,
    };
  }

  #useOf({ model }: CallFacts): AccountUse {
    return { model: model.upstream, operation: rules.inferenceRow(this.#operation).timeouts };
  }

  /** The error with which a spend limit or the wallet would refuse the call. */
  async #refusal(caller: Caller, facts: CallFacts): Promise<core.ApiError | undefined> {
    const { wallet } = this.#asked;
    const costOf = (changed: CallFacts): core.Nanos => quoteCall(caller, changed, this.#services.clock.now()).maxCost;
    const admit = async (): Promise<void> => {
      await this.#services.checkSpend(caller, costOf(facts));
      if (costOf(facts) > wallet) throw new InsufficientBalance(wallet);
    };
    return withAdvice(() => admit().then(() => undefined), costOf, facts).catch((error: unknown) =>
      error instanceof core.ApiError ? error : Promise.reject(error),
    );
  }

  /**
   * The way that serves the call, or the error of its client: what a call would do, with the accounts as they are now.
   */
  #decide(order: Plan, all: readonly Candidate[]): Candidate | core.ApiError | undefined {
    const { clock, pool } = this.#services;
    const operation = rules.inferenceRow(this.#operation).timeouts;
    let progress = begin(order);
    const tell = (outcome: Outcome): void => {
      progress = next(progress, outcome, clock.elapsed());
    };
    for (;;) {
      const { step, at } = progress;
      const one = all[at];
      if (step.kind === 'refuse' || !one) return step.kind === 'refuse' ? step.error : undefined;
      const { error, request } = one;
      if (step.kind === 'enter' && error) {
        if (one.isOwn && !(error instanceof WayUnavailable)) return error;
        tell({ kind: 'over', error: error instanceof WayUnavailable ? error : new WayUnavailable(error) });
      } else if (step.kind === 'enter') tell({ kind: 'opened', accounts: one.accounts, operation });
      else if (step.kind === 'attempt' && request) {
        const use = this.#useOf(request.facts);
        const found = pool.find(step.accounts, { accountId: request.accountId }, use, onlyReady(progress));
        one.busy = undefined;
        if (!('reason' in found)) return one;
        tell({ kind: 'no account', none: found });
      } else if (step.kind === 'leave') {
        one.busy = new WayUnavailable(step.error, step.because, step.isSkipped);
        tell({ kind: 'over', error: one.busy as WayUnavailable });
      } else tell({ kind: 'no slot', retryMs: FULL.retryMs });
    }
  }

  #outcome(all: readonly Candidate[], decided: Candidate | core.ApiError | undefined): Explained {
    const tried = all.filter(({ accounts }) => accounts.length > 0);
    const error = decided instanceof core.ApiError ? decided : undefined;
    return {
      ways: tried.flatMap((one) => (one.shown ? { ...one.shown, error: this.#view(one.error ?? one.busy) } : [])),
      left_out: this.#leftOut,
      way: decided && !error ? tried.indexOf(decided as Candidate) + 1 : null,
      error: this.#view(error),
    };
  }

  #view(error: core.ApiError | undefined): Explained['error'] {
    if (!error) return null;
    const { code, message, details } = error;
    const { status, statusIn } = rules.errorRow(code);
    const usual = statusIn?.[rules.inferenceRow(this.#operation).errorFormat] ?? details.status ?? status;
    return { status: typeof usual === 'number' ? usual : usual[0], code, message, param: details.param ?? null };
  }
}

const REASONS: Partial<Record<core.ApiError['code'], LeftOutReason>> = {
  model_not_allowed: 'key_models',
  model_not_found: 'no_line',
  model_not_priced: 'no_price',
};
const UNUSED = {
  style: 'matrix',
  accounts: 'no_account',
  elsewhere: 'bound_elsewhere',
  request: 'request',
} as const satisfies Record<Exclude<UnusedWay['because'], 'count'>, LeftOutReason>;
