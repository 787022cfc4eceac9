/**
 * Turns of a WebSocket over one WebSocket of the provider (G 4.7).
 * Only the model's alias and the credential change; what it cannot take uses HTTP.
 */
import type { Account, Model } from '../../catalog/index.ts';
import { type MaybePromise, splice } from '../../core/index.ts';
import { LARGE_BODY_BYTES } from '../../platform/threads/index.ts';
import type { Call, WebSocketConnection } from '../../platform/web/index.ts';
import type { AttemptFault } from '../../providers/pool/index.ts';
import { credentialHeaders, locateUpstream } from '../../providers/upstream/index.ts';
import { affinityOf, sessionInHeaders } from '../affinity.ts';
import type { Admission } from '../billing/admission.ts';
import { estimateBody, estimateLarge } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import { WayUnavailable } from '../client-error.ts';
import { chooseByModel } from '../key-groups.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';
import { canonicalPath, requestHeaders } from '../native/headers.ts';
import { idsIn } from '../native/provider-ids.ts';
import { storedBounds } from '../native/read-request.ts';
import { bodyAfter, type NativeScan, scanJob } from '../native/scan.ts';
import { jobOwner } from '../services.ts';
import { ownedIds } from '../stored/owned-ids.ts';
import { previousNotFound } from '../stored/store.ts';
import { frameText, idIn, type JsonFrame, passFailed } from './frames.ts';
import { HttpTurns } from './http-turns.ts';
import type { OpenedSession, SessionServices, Turn, TurnRunner } from './turn.ts';
import { UpstreamSession } from './upstream-session.ts';

/** The response that a turn continues: the account that holds it, and the tokens that the provider reads again. */
interface PreviousResponse {
  readonly accountId: string;
  readonly tokens: number | undefined;
}

interface AdmittedTurn {
  readonly call: Call;
  readonly turn: Turn;
  readonly model: Model;
  readonly admission: Admission;
  readonly previous: PreviousResponse | undefined;
  readonly body: Buffer;
  readonly scan: NativeScan;
}

const TURN = { operation: 'responses.create', dialect: 'responses' } as const;

export class RelayedTurns implements TurnRunner {
  readonly #client: WebSocketConnection;
  readonly #upgrade: Call;
  /**
   * Of several groups, the one in which the connection to the provider is opened:
   * that of the first turn that one can take.
   */
  #caller: Caller;
  #isPlaced = false;
  /** Takes the turns that no provider WebSocket can take. */
  readonly #httpTurns: HttpTurns;
  readonly #services: SessionServices;
  #session: UpstreamSession | undefined;
  /** Concurrent turns of several lanes wait for the same connection. */
  #opening: Promise<UpstreamSession | undefined> | undefined;
  #isClosed = false;
  #sessionName: string | undefined;

  constructor(services: SessionServices, client: WebSocketConnection, { upgrade, caller }: OpenedSession) {
    this.#services = services;
    this.#client = client;
    this.#upgrade = upgrade;
    this.#caller = caller;
    this.#httpTurns = new HttpTurns(services, client, { upgrade, caller });
  }

  async run(call: Call, turn: Turn): Promise<void> {
    const previousId = idIn(turn.create.previous_response_id);
    // Only the HTTP path checks whose objects a request names.
    if (this.#httpTurns.knows(previousId) || idsIn(turn.create) || !this.#isOfSession(turn))
      return this.#httpTurns.run(call, turn);
    call.addLogFields({ group: this.#caller.group.id });
    const body = Buffer.from(turn.text);
    const owner = jobOwner(call, this.#caller, body.length);
    const scan = await this.#services.threads.run(scanJob, { ...TURN, bytes: body }, owner);
    // Only the HTTP path names further models, and tells of members that it cuts.
    if (scan.named.length > 0 || scan.hasCutMembers) return this.#httpTurns.run(call, turn);
    const model = resolveModel(this.#services.catalog(), this.#caller, turn.create.model);
    const previous = previousId === undefined ? undefined : await this.#previous(previousId);
    if (previous === 'held here') return this.#httpTurns.run(call, turn);
    const accountId = previous?.accountId;
    this.#sessionName ??= sessionInHeaders(this.#upgrade) ?? scan.session;
    const admission = await this.#admit(call, { model, previous, scan });
    try {
      let session = await this.#sessionFor(previousId, accountId);
      const acquiring = session && this.#services.acquireSlot(call);
      if (acquiring) {
        await acquiring;
        // The session may have closed meanwhile.
        if (session?.isClosing) session = await this.#sessionFor(previousId, accountId);
      }
      if (this.#isClosed) return;
      if (session) return await this.#relay({ call, turn, model, admission, previous, body, scan }, session);
    } catch (error) {
      // The provider failed before it sent anything of the turn, and a line of another group can take it.
      const goesOn = model.line.fallback.length > 0 && previousId === undefined && !call.isClientGone;
      if (!(error instanceof WayUnavailable) || !goesOn) throw error;
    } finally {
      admission.release();
    }
    // HttpTurns admits the turn by itself, so the admission above is released first.
    await this.#httpTurns.run(call, turn);
  }

  /** The model of each turn chooses its group. A connection to a provider has one; turns of the others use HTTP. */
  #isOfSession({ create }: Turn): boolean {
    const chosen = chooseByModel(this.#services.catalog(), this.#caller, TURN.operation, create.model);
    if (chosen.group.style !== 'responses') return false;
    if (!this.#isPlaced) this.#caller = chosen;
    this.#isPlaced = true;
    return chosen.group.id === this.#caller.group.id;
  }

  #admit(
    call: Call,
    { model, previous, scan: { bounds, tiers } }: Pick<AdmittedTurn, 'model' | 'previous' | 'scan'>,
  ): MaybePromise<Admission> {
    const all = { ...bounds, ...storedBounds(previous, bounds.wholeContext), tiers };
    return this.#services.billing.admit(call, this.#caller, { operation: TURN.operation, model, ...all });
  }

  #relay(admitted: AdmittedTurn, session: UpstreamSession): Promise<void> {
    const { call, turn, model, admission, previous, body, scan } = admitted;
    const { account } = session;
    call.endsWithHandler = true;
    call.addLogFields({ model: model.name, stream: true, account: account.id, attempts: 1 });
    const name = upstreamName(model, account);
    call.trace.client = 'responses';
    call.trace.target = 'responses';
    call.trace.upstreamModel = name;
    const inputTokens = (): number =>
      (previous?.tokens ?? 0) +
      (body.length > LARGE_BODY_BYTES ? estimateLarge(body, scan.bounds) : estimateBody('responses', turn.create));
    return session.run({ call, turn, model, admission, inputTokens, text: frameFor(admitted, name) });
  }

  /** Only for responses of this connection, because the account is shared with other callers. */
  pass(event: JsonFrame, text: string): void {
    const id = idIn(event.type === 'response.inject' ? event.response_id : event.previous_response_id);
    if (!this.#session) return this.#httpTurns.pass(event);
    if (id !== undefined && this.#session.responseOf(id)) return this.#session.pass(id, text);
    const failed = passFailed(event, 'response_not_found', 'The response is not known on this connection.');
    this.#client.send(frameText(failed, idIn(event.stream_id)));
  }

  close(): void {
    this.#isClosed = true;
    this.#session?.leave();
    this.#httpTurns.close();
  }

  /**
   * The account that holds the response, or that our own store does.
   * Unknown responses and those of others are both not found.
   */
  async #previous(responseId: string): Promise<PreviousResponse | 'held here'> {
    const session = this.#session;
    const own = session?.responseOf(responseId);
    if (session && own) return { accountId: session.account.id, tokens: own.tokens };
    const found = await this.#services.store.find(responseId, this.#caller.key.userId);
    if (found?.isHere) return 'held here';
    if (found?.accountId === undefined) throw previousNotFound(responseId);
    return { accountId: found.accountId, tokens: found.tokens };
  }

  async #sessionFor(previousId: string | undefined, accountId: string | undefined) {
    const session = await this.#openedSession(accountId);
    if (session && previousId !== undefined && accountId !== session.account.id) throw previousNotFound(previousId);
    return session;
  }

  #openedSession(accountId: string | undefined): Promise<UpstreamSession | undefined> {
    const current = this.#session && this.#current(this.#session.account);
    if (!current) this.#session?.drain();
    // An account at its limits takes no further turn; the turn then uses HTTP.
    if (current && this.#session)
      return Promise.resolve(this.#services.pool.mayUseAgain(current) ? this.#session : undefined);
    this.#opening ??= this.#open(accountId).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** A changed or parked account must not stay in use until the client disconnects. */
  #current({ id, credential, baseUrl, proxy }: Account): Account | undefined {
    if (this.#services.pool.isParked(id)) return undefined;
    return this.#usable().find(
      (now) => now.id === id && now.credential === credential && now.baseUrl === baseUrl && now.proxy === proxy,
    );
  }

  #usable(): Account[] {
    const accounts = this.#services.catalog().accounts(this.#caller.group.id);
    // Clouds sign single requests; turns on their accounts use HTTP.
    return accounts.filter(({ features, cloud }) => features.has('websocket') && cloud === undefined);
  }

  /** Undefined when no account offers a WebSocket, is free, and accepts the upgrade; the turn then uses HTTP. */
  async #open(accountId: string | undefined): Promise<UpstreamSession | undefined> {
    const { catalog, pool, store, refusedSockets, upstream, clock, log, readOn } = this.#services;
    const usable = this.#usable().filter(
      ({ id }) => !refusedSockets.get(id) && (accountId === undefined || id === accountId),
    );
    // Where another group can take the turn, it does not wait for a provider that is out.
    const onlyReady = catalog().mayFallBack(this.#caller.group.id) && accountId === undefined;
    const lease = pool.lease(usable, { accountId, ...affinityOf(this.#sessionName) }, {}, onlyReady);
    if (!('account' in lease)) return undefined;
    const { account } = lease;
    const { key, group } = this.#caller;
    const release = (fault?: AttemptFault): void => lease.release(fault && { ...fault, hasFallback: onlyReady });
    const session = new UpstreamSession({ ...lease, release }, this.#client, {
      clock,
      log,
      readOn,
      onStored: (id, output, tokens) => {
        if (key.store) store.save({ id, userId: key.userId, accountId: account.id, itemIds: ownedIds(output), tokens });
      },
      onRejected: (status) => {
        refusedSockets.set(account.id, true);
        log.warn('upstream_socket.rejected', { account: account.id, status });
      },
      onClosing: () => {
        if (this.#session === session) this.#session = undefined;
      },
    });
    const { origin, path } = locateUpstream(group.style, account, canonicalPath(this.#upgrade));
    const isOpen = await session.open({
      origin,
      path,
      proxy: upstream.proxyFor(origin, account.proxy),
      headers: [...requestHeaders(this.#upgrade, group.style), ...credentialHeaders(group.style, account)],
    });
    if (!isOpen) return undefined;
    if (this.#isClosed) session.close();
    else this.#session = session;
    return session;
  }
}

function frameFor({ turn: { create }, body, scan }: AdmittedTurn, upstream: string): Buffer {
  const bytes = bodyAfter(body, scan);
  const { model } = scan.spans;
  return model && create.model !== upstream ? splice(bytes, model, Buffer.from(JSON.stringify(upstream))) : bytes;
}
