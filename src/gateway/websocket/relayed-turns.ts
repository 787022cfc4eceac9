/**
 * Turns of a socket over the provider's own socket (G 4.7): one upstream socket per client's socket, opened with the first turn and
 * kept to the end. Only the model's alias and the credential change. What the account cannot do this way goes over the bridge.
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { type Clock, type Log, scanMembers, splice } from '../../core/index.ts';
import type { OnStep } from '../../ledger/index.ts';
import type { Pool } from '../../pool/index.ts';
import { JSON_LIMITS, WEBSOCKET } from '../../rules/index.ts';
import { locateUpstream } from '../../upstream/index.ts';
import type { Call, WebSocketConnection } from '../../web/index.ts';
import { affinityFromHeaders } from '../affinity.ts';
import type { Admission, Billing } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import { resolveModel } from '../models/resolve.ts';
import { canonicalPath } from '../native/forward.ts';
import { requestHeaders } from '../native/headers.ts';
import { upstreamName } from '../native/request.ts';
import { stripEnvelopes } from '../native/strip-envelopes.ts';
import { previousNotFound, type ResponseStore } from '../stored/store.ts';
import { frameText, idIn, type Json, passFailed } from './frames.ts';
import type { HttpTurns } from './http-turns.ts';
import type { Turn, TurnRunner } from './turn.ts';
import { UpstreamSession } from './upstream-session.ts';

export interface RelayedTurnsServices {
  readonly clock: Clock;
  readonly log: Log;
  readonly pool: Pool;
  readonly catalog: () => Catalog;
  readonly store: ResponseStore;
  readonly meter: Billing;
  readonly refusals: SocketRejections;
  /** Counts the turn against the limits of its key, or refuses it; the bridge does so by itself. */
  readonly limit: (call: Call) => undefined | Promise<void>;
  readonly onStep?: OnStep | undefined;
}

/** Accounts that answered an upgrade with something else lately. One per replica. */
export class SocketRejections {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(accountId: string): boolean {
    return (this.#until.get(accountId) ?? 0) > this.#clock.now();
  }

  add(accountId: string): void {
    this.#until.set(accountId, this.#clock.now() + WEBSOCKET.refusedMs);
  }
}

export class RelayedTurns implements TurnRunner {
  readonly #client: WebSocketConnection;
  readonly #upgrade: Call;
  readonly #caller: Caller;
  readonly #bridge: HttpTurns;
  readonly #parts: RelayedTurnsServices;
  #line: UpstreamSession | undefined;
  /** Turns on several lanes that begin together wait for one socket. */
  #opening: Promise<UpstreamSession | undefined> | undefined;
  #hasLeft = false;

  constructor(
    client: WebSocketConnection,
    upgrade: Call,
    caller: Caller,
    bridge: HttpTurns,
    parts: RelayedTurnsServices,
  ) {
    this.#client = client;
    this.#upgrade = upgrade;
    this.#caller = caller;
    this.#bridge = bridge;
    this.#parts = parts;
  }

  async answer(call: Call, turn: Turn): Promise<void> {
    const previousId = idIn(turn.create.previous_response_id);
    if (this.#bridge.knows(previousId)) return this.#bridge.answer(call, turn);
    const model = resolveModel(this.#parts.catalog(), this.#caller, turn.create.model);
    const issuer = previousId === undefined ? undefined : await this.#homeOf(previousId);
    const ticket = await this.#admit(call, turn, model);
    try {
      let line = await this.#lineFor(previousId, issuer);
      const entering = line && this.#parts.limit(call);
      if (entering) {
        await entering;
        // It may have ended meanwhile. If the bridge must do then, the turn counts twice: rare, and better than a turn that hangs.
        if (line?.isClosing) line = await this.#lineFor(previousId, issuer);
      }
      if (this.#hasLeft) return;
      if (line) return await this.#relay(call, turn, model, line, ticket);
    } finally {
      ticket.release();
    }
    // Admits the turn by itself.
    await this.#bridge.answer(call, turn);
  }

  #admit(call: Call, { create, text }: Turn, model: Model): Admission | Promise<Admission> {
    const maxOutput = create.max_output_tokens;
    return this.#parts.meter.admit(call, this.#caller, {
      operation: 'responses.create',
      model,
      bodyBytes: Buffer.byteLength(text ?? JSON.stringify(create)),
      maxOutput: typeof maxOutput === 'number' && maxOutput >= 0 ? maxOutput : undefined,
    });
  }

  #relay(call: Call, turn: Turn, model: Model, line: UpstreamSession, ticket: Admission): Promise<void> {
    const { id } = line.account;
    call.addLogFields({ model: model.name, stream: true, account: id, attempts: 1 });
    return line.run({ call, turn, ticket, text: frameFor(turn, upstreamName(model, line.account)) });
  }

  /** Only about responses of this very connection: the account behind it is shared with strangers. */
  pass(event: Json, text: string): void {
    const id = idIn(event.type === 'response.inject' ? event.response_id : event.previous_response_id);
    if (!this.#line) return this.#bridge.pass(event);
    if (id !== undefined && this.#line.hasResponse(id)) return this.#line.pass(id, text);
    const failed = passFailed(event, 'response_not_found', 'The response is not known on this connection.');
    this.#client.send(frameText(failed, idIn(event.stream_id)));
  }

  leave(): void {
    this.#hasLeft = true;
    this.#line?.close();
  }

  /** The account that holds the response; nobody's and other people's are not found alike. */
  async #homeOf(responseId: string): Promise<string> {
    if (this.#line?.hasResponse(responseId)) return this.#line.account.id;
    const accountId = (await this.#parts.store.find(responseId, this.#caller.key.userId))?.accountId;
    if (accountId === undefined) throw previousNotFound(responseId);
    return accountId;
  }

  async #lineFor(previousId: string | undefined, issuer: string | undefined): Promise<UpstreamSession | undefined> {
    const line = await this.#lineTo(issuer);
    if (line && previousId !== undefined && issuer !== line.account.id) throw previousNotFound(previousId);
    return line;
  }

  #lineTo(issuer: string | undefined): Promise<UpstreamSession | undefined> {
    if (this.#line && !this.#isCurrent(this.#line.account)) this.#line.drain();
    if (this.#line) return Promise.resolve(this.#line);
    this.#opening ??= this.#open(issuer).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** What an operator changes must not wait for clients to hang up. */
  #isCurrent({ id, credential, baseUrl }: Account): boolean {
    const now = this.#usable().find((account) => account.id === id);
    return now !== undefined && now.credential === credential && now.baseUrl === baseUrl;
  }

  #usable(): Account[] {
    const accounts = this.#parts.catalog().accounts(this.#caller.group.id);
    return accounts.filter(({ features }) => features.has('websocket'));
  }

  /** Undefined where the bridge has to do: nobody has sockets, is free, or agrees. */
  async #open(issuer: string | undefined): Promise<UpstreamSession | undefined> {
    const { pool, store, refusals, clock, log, onStep } = this.#parts;
    const fit = this.#usable().filter(({ id }) => !refusals.has(id) && (issuer === undefined || id === issuer));
    const lease = pool.lease(fit, affinityFromHeaders(this.#upgrade));
    if (!('account' in lease)) return undefined;
    const { account } = lease;
    const { key, group } = this.#caller;
    const line = new UpstreamSession(lease, this.#client, {
      clock,
      log,
      onStep,
      onStored: (id) => {
        if (key.store) store.save({ id, userId: key.userId, accountId: account.id });
      },
      onRefused: (status) => {
        refusals.add(account.id);
        log.warn('upstream_socket.rejected', { account: account.id, status });
      },
      onSpent: () => {
        if (this.#line === line) this.#line = undefined;
      },
    });
    const isOpen = await line.open({
      ...locateUpstream(group.style, account.baseUrl, canonicalPath(this.#upgrade)),
      headers: requestHeaders(this.#upgrade, group.style, account),
    });
    if (!isOpen) return undefined;
    if (this.#hasLeft) line.close();
    else this.#line = line;
    return line;
  }
}

const MODEL: ReadonlySet<string> = new Set(['model']);

/** The client's own bytes, but for the model's name and envelopes of other groups. */
function frameFor({ text, create, streamId }: Turn, upstream: string): string {
  // Two places for one member invite two readings; the provider gets the one that was checked.
  if (text === undefined) return frameText({ type: 'response.create', ...create, model: upstream }, streamId);
  const given = Buffer.from(text);
  const bytes = stripEnvelopes(given, 'responses');
  const span = create.model === upstream ? undefined : scanMembers(bytes, MODEL, JSON_LIMITS).get('model');
  if (span) return splice(bytes, span, Buffer.from(JSON.stringify(upstream))).toString();
  return bytes === given ? text : bytes.toString();
}
