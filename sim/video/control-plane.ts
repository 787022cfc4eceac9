/** The asset library of the provider: signed actions at `/?Action=...`, files of assets, and the validation page. */
import { textOf } from '../json.ts';
import type { AccessKeys } from './assets/access-keys.ts';
import { type Action, CALLS_PER_SECOND, isAction } from './assets/actions.ts';
import { AssetFiles } from './assets/asset-files.ts';
import type { LibraryItem } from './assets/collection.ts';
import { Envelope, VERSION } from './assets/envelope.ts';
import { LibraryActions, type LibraryServices } from './assets/library-actions.ts';
import { PAGE_PATH, servePage } from './assets/validation-page.ts';
import type { VideoCall } from './call.ts';
import { VideoFailure } from './errors.ts';
import { type Faults, readTriggers, takeFault } from './faults.ts';
import { keepParsed, librarySummaryOf } from './journal.ts';
import { RateLimits } from './rate-limits.ts';
import type { Reply } from './reply.ts';
import { type CallFault, parseTrigger, promptTriggers, type Target, type Trigger } from './triggers.ts';

export interface ControlPlaneServices extends LibraryServices {
  accessKeys: AccessKeys;
  faults: Faults;
}

export class ControlPlane {
  readonly #services: ControlPlaneServices;
  readonly #actions: LibraryActions;
  readonly #limits = new RateLimits({ code: 'RequestLimitExceeded' });

  constructor(services: ControlPlaneServices) {
    this.#services = services;
    this.#actions = new LibraryActions(services);
  }

  static accepts(path: string, query: URLSearchParams): boolean {
    return (path === '/' && query.has('Action')) || path === PAGE_PATH || AssetFiles.accepts(path);
  }

  async serve(call: VideoCall): Promise<void> {
    if (call.path === PAGE_PATH) {
      call.entry.operation = 'page';
      return call.deliver(servePage(call, this.#services.validations));
    }
    if (call.path === '/') return this.#serveAction(call);
    call.entry.operation = 'download';
    await call.deliver(this.#services.files.read(call.method, call.path, call.query, call.headers));
  }

  async #serveAction(call: VideoCall): Promise<void> {
    const envelope = new Envelope(call.query.get('Action') ?? '', this.#services.settings);
    call.failures = envelope;
    describe(call);
    const action = this.#admit(call);
    const triggers = triggersOf(call);
    const fault = this.#faultOf(call, action, triggers);
    const isEarly = fault !== undefined && !fault.effective;
    await call.deliver(isEarly ? undefined : this.#run(call, action, triggers, envelope), fault);
  }

  /** Checks the signature, the action and the limits. */
  #admit(call: VideoCall): Action {
    const { accessKeys, settings } = this.#services;
    const account = accessKeys.authenticate(call);
    call.entry.account = account;
    const action = call.query.get('Action') ?? '';
    const version = call.query.get('Version') ?? '';
    if (call.method !== 'POST' || version !== VERSION || !isAction(action)) {
      throw new VideoFailure('InvalidActionOrVersion', `The action ${action} of version ${version} does not exist.`);
    }
    if (settings.rateLimits) this.#limits.check(`${account} ${action}`, CALLS_PER_SECOND[action]);
    return action;
  }

  #run(call: VideoCall, action: Action, triggers: readonly Trigger[], envelope: Envelope): Reply {
    const { result, created } = this.#actions.run(action, {
      account: call.entry.account ?? '',
      body: call.json,
      plan: Object.assign({}, ...triggers.map(({ plan }) => plan)),
      faults: triggers.flatMap(({ fault }) => (fault?.on && fault.on !== action ? [{ ...fault }] : [])),
    });
    if (created !== undefined) {
      call.entry.resourceId = created;
      call.entry.isCreated = true;
    }
    return envelope.wrap(result, call.requestId);
  }

  /** The fault of this call: from a test, from the header, from the request itself, or from the item it is about. */
  #faultOf(call: VideoCall, action: Action, triggers: readonly Trigger[]): CallFault | undefined {
    const { faults } = this.#services;
    const accepts = (on: Target | undefined) => on === action || on === 'control';
    const queued = faults.takeQueued(accepts);
    if (queued) return queued;
    const header = readTriggers(() => parseTrigger(call.headers['x-sim'] ?? '')).fault;
    if (header) return header;
    const own = triggers.find(({ fault }) => fault && (fault.on ?? action) === action)?.fault;
    const applied = own && faults.limited(own, [action, call.json]);
    return applied ?? takeFault(this.#itemOf(call)?.faults ?? [], accepts);
  }

  #itemOf({ entry }: VideoCall): LibraryItem | undefined {
    const { groups, assets } = this.#services;
    const id = entry.library?.id ?? entry.library?.groupId ?? '';
    const item = assets.get(id) ?? groups.get(id);
    return item?.account === entry.account ? item : undefined;
  }
}

/** Rejected requests are described as well: each one may be a duplicate. */
function describe({ entry, query, parsed }: VideoCall): void {
  entry.operation = 'control';
  entry.action = query.get('Action') ?? '';
  if (!parsed) return;
  keepParsed(entry, parsed);
  entry.library = librarySummaryOf(parsed);
  const id = entry.library.id ?? entry.library.bytedToken;
  if (id !== undefined) entry.resourceId = id;
}

/** Triggers are in the name, in the description, or in the query of the URL as `?sim=fail=FaceMismatch`. */
function triggersOf({ parsed = {} }: VideoCall): Trigger[] {
  const url = textOf(parsed.URL);
  const spec = (URL.canParse(url) && new URL(url).searchParams.get('sim')) || '';
  return readTriggers(() => [
    ...promptTriggers(`${textOf(parsed.Name)} ${textOf(parsed.Description)}`),
    ...(spec === '' ? [] : [parseTrigger(spec)]),
  ]);
}
