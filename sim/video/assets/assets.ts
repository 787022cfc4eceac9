/** The assets of all accounts and their life: processing, active or failed, gone. */

import type { Chance } from '../../chance.ts';
import type { Owner } from '../accounts.ts';
import type { SimClock } from '../clock.ts';
import type { MediaType } from '../content.ts';
import { RateLimits } from '../rate-limits.ts';
import type { VideoSettings } from '../settings.ts';
import type { AssetPlan, CallFault } from '../triggers.ts';
import { assetFailureMessage } from './asset-failures.ts';
import { Collection, type LibraryItem } from './collection.ts';
import type { Group, GroupType } from './groups.ts';

export const ASSET_TYPES = ['Image', 'Video', 'Audio'] as const;
export type AssetType = (typeof ASSET_TYPES)[number];

export const ASSET_STATUSES = ['Processing', 'Active', 'Failed'] as const;
export type AssetStatus = (typeof ASSET_STATUSES)[number];

export interface Asset extends LibraryItem {
  readonly groupId: string;
  readonly groupType: GroupType;
  readonly type: AssetType;
  /** The URL that the asset was created from. It is never fetched. */
  readonly sourceUrl: string;
  readonly moderation: string;
  readonly plan: AssetPlan;
  status: AssetStatus;
  error?: { code: string; message: string };
  /** Gets so far. */
  gets: number;
}

interface NewAsset {
  group: Group;
  name: string;
  type: AssetType;
  sourceUrl: string;
  moderation: string;
  plan: AssetPlan;
  faults: CallFault[];
}

const MINUTE_MS = 60_000;

export class Assets extends Collection<Asset> {
  readonly #clock: SimClock;
  readonly #settings: VideoSettings;
  readonly #chance: Chance;
  readonly #limits: RateLimits;

  constructor(clock: SimClock, settings: VideoSettings, chance: Chance) {
    super('asset');
    this.#clock = clock;
    this.#settings = settings;
    this.#chance = chance;
    this.#limits = new RateLimits({ code: 'Throttling', windowMs: MINUTE_MS, now: () => clock.now() });
  }

  create({ group, ...given }: NewAsset): Asset {
    const { account, project } = group;
    this.#limits.check(account, this.#settings.assetsPerMinute);
    const now = this.#clock.now();
    const asset: Asset = {
      ...given,
      id: this.#chance.id('asset', now),
      order: this.nextOrder(),
      account,
      project,
      groupId: group.id,
      groupType: group.type,
      status: 'Processing',
      createdAt: now,
      updatedAt: now,
      gets: 0,
    };
    this.add(asset);
    this.#scheduleLife(asset);
    return asset;
  }

  /** Counts a get; processing may end with it. */
  countGet(asset: Asset): void {
    asset.gets += 1;
    const limit = this.#processingGets(asset);
    if (limit > 0 && asset.gets > limit) this.#finish(asset, this.#clock.now());
  }

  rename(asset: Asset, name: string): void {
    asset.name = name;
    asset.updatedAt = this.#clock.now();
  }

  remove(id: string): void {
    this.drop(id);
  }

  removeGroup(groupId: string): void {
    for (const asset of this.all) if (asset.groupId === groupId) this.drop(asset.id);
  }

  /** The reason why a task cannot use the asset; undefined if it can. */
  reject({ account, project }: Owner, id: string, type: MediaType): string | undefined {
    if (this.#settings.presetAssets.includes(id)) {
      return type === 'image' ? undefined : `the asset ${id} is not of the type ${type}`;
    }
    const asset = this.get(id);
    if (asset?.account !== account || asset.project !== project) return `the asset ${id} is not found`;
    if (asset.status !== 'Active') return `the asset ${id} is not active`;
    return asset.type.toLowerCase() === type ? undefined : `the asset ${id} is not of the type ${type}`;
  }

  /** For tests: processing ends at once. */
  activate(id: string): void {
    this.#end(this.known(id), 'Active', this.#clock.now());
  }

  /** For tests: the asset is `Failed` from now on, even if it was active. */
  fail(id: string, code: string): void {
    const asset = this.known(id);
    asset.error = { code, message: assetFailureMessage(code) };
    this.#end(asset, 'Failed', this.#clock.now());
  }

  /** For tests: the provider no longer knows the asset. */
  vanish(id: string): void {
    this.drop(this.known(id).id);
  }

  #scheduleLife(asset: Asset): void {
    const { createdAt, plan } = asset;
    if (this.#processingGets(asset) === 0) {
      const processingMs = plan.processingMs ?? this.#settings.processingMs;
      this.#clock.at(createdAt + processingMs, (at) => this.#finish(asset, at));
    }
    const lifetimeMs = plan.lifetimeMs ?? this.#settings.assetLifetimeMs;
    if (lifetimeMs > 0) this.#clock.at(createdAt + lifetimeMs, () => this.drop(asset.id));
  }

  /** Zero: the time decides. An explicit time of the plan overrides the number of the settings. */
  #processingGets({ plan }: Asset): number {
    if (plan.processingGets !== undefined) return plan.processingGets;
    return plan.processingMs === undefined ? this.#settings.processingGets : 0;
  }

  #finish(asset: Asset, at: number): void {
    const { failure, stuck } = asset.plan;
    if (asset.status !== 'Processing' || stuck === 'processing') return;
    if (failure !== undefined) asset.error = { code: failure, message: assetFailureMessage(failure) };
    this.#end(asset, failure === undefined ? 'Active' : 'Failed', at);
  }

  #end(asset: Asset, status: AssetStatus, at: number): void {
    asset.status = status;
    asset.updatedAt = at;
    if (status === 'Active') delete asset.error;
  }
}
