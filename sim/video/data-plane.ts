/** The generation API: create, get, list and delete tasks, and download results. */
import type { Accounts, Owner } from './accounts.ts';
import type { VideoCall } from './call.ts';
import type { AssetCheck } from './content.ts';
import { blamedInput, VideoFailure } from './errors.ts';
import { type FamilyName, guessFamily } from './families.ts';
import { type Faults, readTriggers, takeFault } from './faults.ts';
import { keepParsed, summaryOf } from './journal.ts';
import type { Objects } from './objects.ts';
import { DEFAULT_EXPIRY_S, readModel, readRequest } from './parameters.ts';
import { RateLimits } from './rate-limits.ts';
import { jsonReply, type Reply } from './reply.ts';
import type { VideoSettings } from './settings.ts';
import { reportedStatus, type Task, taskView } from './task.ts';
import { listTasks } from './task-list.ts';
import type { Tasks } from './tasks.ts';
import { type CallFault, type Operation, parseTrigger, promptTriggers, splitModel, type Trigger } from './triggers.ts';

const TASKS_PATH = /^\/api\/v3\/contents\/generations\/tasks(?:\/([^/]+))?$/;
const OBJECTS_PATH = '/obj/';
const CALLS_PER_SECOND: Partial<Record<Operation, number>> = { get: 20, list: 1, delete: 20 };

export interface DataPlaneServices {
  accounts: Accounts;
  settings: VideoSettings;
  tasks: Tasks;
  objects: Objects;
  models: Readonly<Record<string, FamilyName>>;
  faults: Faults;
  /** Judges the references of one API key. */
  checkAsset: (owner: Owner, ...reference: Parameters<AssetCheck>) => string | undefined;
  /** The time of the provider. */
  now: () => number;
}

export class DataPlane {
  readonly #services: DataPlaneServices;
  readonly #limits = new RateLimits({ code: 'AccountRateLimitExceeded' });

  constructor(services: DataPlaneServices) {
    this.#services = services;
  }

  static accepts(path: string): boolean {
    return path.startsWith('/api/v3/') || path.startsWith(OBJECTS_PATH);
  }

  async serve(call: VideoCall): Promise<void> {
    const operation = operationOf(call);
    call.entry.operation = operation ?? 'unknown';
    if (!operation) throw new VideoFailure('NotFound.path', `The path ${call.path} does not exist.`);
    if (operation === 'create') describe(call);
    if (operation !== 'download') this.#admit(call, operation);
    const triggers = operation === 'create' ? createTriggers(call) : [];
    const fault = this.#faultOf(call, operation, triggers);
    const isEarly = fault !== undefined && !fault.effective;
    await call.deliver(isEarly ? undefined : this.#run(call, operation, triggers), fault);
  }

  /** The body of a get response at this moment; also the body of a callback. */
  view(task: Task, status = task.status): object {
    const view = taskView(task, status, this.#services.now(), () => this.#services.objects.urlsOf(task));
    return this.#services.settings.returnsExpiry ? view : { ...view, execution_expires_after: DEFAULT_EXPIRY_S };
  }

  #admit(call: VideoCall, operation: Operation): void {
    const account = this.#services.accounts.authenticate(call);
    call.entry.account = account;
    if (this.#services.settings.rateLimits) this.#limits.check(`${account} ${operation}`, CALLS_PER_SECOND[operation]);
  }

  #run(call: VideoCall, operation: Operation, triggers: readonly Trigger[]): Reply {
    const { tasks, objects } = this.#services;
    if (operation === 'create') return this.#create(call, triggers);
    if (operation === 'download') return objects.read(call.method, call.pathAndQuery, call.headers);
    const account = call.entry.account ?? '';
    if (operation === 'list') return this.#list(call, account);
    const task = tasks.find(account, idOf(call));
    if (operation === 'get') return jsonReply(this.view(task, reportedStatus(task)));
    tasks.delete(task);
    return jsonReply({});
  }

  #create(call: VideoCall, triggers: readonly Trigger[]): Reply {
    const { accounts, models, checkAsset, tasks } = this.#services;
    const { model } = splitModel(readModel(call.json));
    if (model.startsWith('missing-')) {
      throw new VideoFailure('InvalidEndpointOrModel.NotFound', `The model or endpoint ${model} does not exist.`);
    }
    const family = models[model] ?? guessFamily(model);
    const owner = accounts.owner(call);
    const task = tasks.create({
      account: owner.account,
      request: readRequest(call.json, model, family, (id, type) => checkAsset(owner, id, type)),
      plan: Object.assign({}, ...triggers.map(({ plan }) => plan)),
      faults: triggers.flatMap(({ fault }) => (fault?.on && fault.on !== 'create' ? [{ ...fault }] : [])),
    });
    call.entry.taskId = task.id;
    call.entry.isCreated = true;
    const { safetyIdentifier } = task.request;
    return jsonReply({ id: task.id, ...(safetyIdentifier !== undefined && { safety_identifier: safetyIdentifier }) });
  }

  #list(call: VideoCall, account: string): Reply {
    const { tasks, settings } = this.#services;
    const { items, total } = listTasks(
      tasks.all.filter((task) => task.account === account),
      call.query,
    );
    const views = items.map((task) => {
      const { error, ...view } = this.view(task) as { error?: unknown };
      return error === undefined ? view : { ...view, [settings.listError]: error };
    });
    return jsonReply({ items: views, total });
  }

  /** The fault of this call: from a test, from the header, from the request itself, or from its task. */
  #faultOf(call: VideoCall, operation: Operation, triggers: readonly Trigger[]): CallFault | undefined {
    const queued = this.#services.faults.takeQueued((on) => on === undefined || on === operation);
    if (queued) return queued;
    const header = readTriggers(() => parseTrigger(call.headers['x-sim'] ?? '')).fault;
    if (header) return header;
    if (operation === 'create') return this.#createFault(call, triggers);
    const task = this.#taskOf(call, operation);
    if (!task) return undefined;
    call.entry.taskId = task.id;
    return takeFault(task.faults, (on) => on === operation);
  }

  #createFault(call: VideoCall, triggers: readonly Trigger[]): CallFault | undefined {
    const found = triggers.find(({ fault }) => fault && (fault.on ?? 'create') === 'create')?.fault;
    if (!found) return undefined;
    const item = found.item ?? blamedItem(call, found.code ?? '');
    const fault = { ...found, ...(item !== undefined && { item }) };
    // A caller that tries again may use other callback URLs, so that only the model and the content identify the order.
    return this.#services.faults.limited(fault, [call.json.model, call.json.content]);
  }

  #taskOf(call: VideoCall, operation: Operation): Task | undefined {
    const { tasks, objects } = this.#services;
    if (operation === 'download') return objects.taskOf(call.pathAndQuery);
    const task = tasks.get(idOf(call));
    return task?.account === call.entry.account ? task : undefined;
  }
}

function operationOf(call: VideoCall): Operation | undefined {
  if (call.path.startsWith(OBJECTS_PATH)) return 'download';
  const match = TASKS_PATH.exec(call.path);
  if (!match) return undefined;
  if (match[1] === undefined) return ({ POST: 'create', GET: 'list' } as const)[call.method as 'POST' | 'GET'];
  return ({ GET: 'get', DELETE: 'delete' } as const)[call.method as 'GET' | 'DELETE'];
}

const idOf = (call: VideoCall): string => TASKS_PATH.exec(call.path)?.[1] ?? '';

/** Rejected create requests are described as well: each one may be a duplicate of an order. */
function describe({ entry, parsed }: VideoCall): void {
  if (!parsed) return;
  keepParsed(entry, parsed);
  entry.summary = summaryOf(parsed);
}

function createTriggers({ entry: { summary } }: VideoCall): Trigger[] {
  if (!summary) return [];
  return readTriggers(() => [...splitModel(summary.model).triggers, ...promptTriggers(summary.prompt)]);
}

/** The first item of the kind that a code blames. */
function blamedItem(call: VideoCall, code: string): number | undefined {
  const kind = blamedInput(code);
  if (kind === undefined) return undefined;
  const type = kind === 'text' ? 'text' : `${kind}_url`;
  return Math.max(call.entry.summary?.items.findIndex((item) => item.startsWith(type)) ?? 0, 0);
}
