/** The simulated video provider: all its parts behind one object. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Chance } from '../chance.ts';
import { Accounts } from './accounts.ts';
import { AccessKeys } from './assets/access-keys.ts';
import { AssetFiles } from './assets/asset-files.ts';
import { Assets } from './assets/assets.ts';
import { Groups } from './assets/groups.ts';
import { Validations } from './assets/validations.ts';
import { VideoCall } from './call.ts';
import { type CallbackAttempt, Callbacks } from './callbacks.ts';
import { SimClock } from './clock.ts';
import { ControlPlane } from './control-plane.ts';
import { DataPlane } from './data-plane.ts';
import { VideoFailure } from './errors.ts';
import { Faults } from './faults.ts';
import { VideoJournal } from './journal.ts';
import { Objects } from './objects.ts';
import { isOperatorPath, serveOperator } from './operator.ts';
import { settingsOf, type VideoOptions, type VideoSettings } from './settings.ts';
import { Tasks } from './tasks.ts';

export class VideoSim {
  readonly journal = new VideoJournal();
  readonly clock: SimClock;
  /** May be changed at any time; tasks that exist keep the times they were created with. */
  readonly settings: VideoSettings;
  readonly tasks: Tasks;
  readonly assets: Assets;
  readonly groups: Groups;
  readonly validations: Validations;
  readonly #chance: Chance;
  readonly #faults = new Faults();
  readonly #objects: Objects;
  readonly #callbacks: Callbacks;
  readonly #dataPlane: DataPlane;
  readonly #controlPlane: ControlPlane;

  constructor(options: VideoOptions = {}) {
    this.settings = settingsOf(options);
    this.clock = new SimClock(options.clock ?? 'real', options.startAt);
    this.#chance = new Chance(options.seed ?? 'sim');
    const { clock, settings } = this;
    const chance = this.#chance;
    this.tasks = new Tasks(clock, settings, chance);
    this.groups = new Groups(clock, settings, chance);
    this.assets = new Assets(clock, settings, chance);
    this.groups.onRemove = (id) => this.assets.removeGroup(id);
    this.validations = new Validations({ clock, settings, chance, groups: this.groups });
    this.#objects = new Objects(clock, settings, chance);
    this.#callbacks = new Callbacks(clock, settings);
    this.#dataPlane = new DataPlane({
      accounts: new Accounts(options.accounts ?? {}),
      settings,
      faults: this.#faults,
      tasks: this.tasks,
      objects: this.#objects,
      models: options.models ?? {},
      checkAsset: (owner, id, type) => this.assets.reject(owner, id, type),
      now: () => clock.now(),
    });
    const origin = () => this.#objects.origin;
    this.#controlPlane = new ControlPlane({
      accessKeys: new AccessKeys(options.accessKeys ?? {}, settings),
      settings,
      faults: this.#faults,
      groups: this.groups,
      assets: this.assets,
      validations: this.validations,
      files: new AssetFiles({ clock, settings, chance, assets: this.assets, origin }),
      origin,
    });
    this.tasks.onChange = (task) => this.#callbacks.announce(task, () => this.#dataPlane.view(task));
    this.clock.whenIdle = () => this.#callbacks.idle();
  }

  /** The base URL for clients: `http://127.0.0.1:4010/api/v3`. */
  get url(): string {
    return `${this.#objects.origin}/api/v3`;
  }

  /** The base URL of the asset library: `http://127.0.0.1:4010`. */
  get libraryUrl(): string {
    return this.#objects.origin;
  }

  /** Set once the server listens. */
  set origin(origin: string) {
    this.#objects.origin = origin;
  }

  /** Every attempt of a callback so far. */
  get callbacks(): CallbackAttempt[] {
    return this.#callbacks.attempts;
  }

  /** Downloads so far, by result URL. */
  get downloads(): Record<string, number> {
    return this.#objects.downloads;
  }

  /**
   * Sets the fault of the next call: `on=get; fault=500; times=2`. Several calls form a queue.
   * For the asset library `on` is an action or `control`; without `on` the fault is one of the generation API.
   */
  next(fault: string): void {
    this.#faults.next(fault);
  }

  accepts(request: IncomingMessage): boolean {
    const { path, query } = locationOf(request);
    return isOperatorPath(path) || DataPlane.accepts(path) || ControlPlane.accepts(path, query);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isOperatorPath(locationOf(request).path)) return serveOperator(this, request, response);
    const call = new VideoCall(request, response, this.journal, this.#chance.requestId(this.clock.now()));
    if (!(await call.readBody())) return;
    const plane = ControlPlane.accepts(call.path, call.query) ? this.#controlPlane : this.#dataPlane;
    try {
      await plane.serve(call);
    } catch (error) {
      const failure = error instanceof VideoFailure ? error : new VideoFailure('InternalServiceError', String(error));
      await call.fail(failure);
    }
  }

  close(): void {
    this.clock.close();
    this.#callbacks.close();
  }
}

function locationOf({ url = '/' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = '/', query = ''] = url.split(/\?(.*)/s, 2);
  return { path, query: new URLSearchParams(query) };
}
