/**
 * What may be called: groups, their upstream accounts and the models of each, as one immutable picture in memory. A replica
 * replaces the whole picture when the configuration moves on; a call in flight keeps the one it started with.
 */

import { isGlob, matchesGlob } from '../core/index.ts';
import {
  type Capabilities,
  type CapabilityOverrides,
  capabilitiesOf,
  type Style,
  type VideoVariant,
} from '../rules/index.ts';

export interface Group {
  readonly id: string;
  readonly style: Style | 'video';
  readonly variant: VideoVariant | null;
  readonly name: string;
  readonly multiplierPpm: bigint;
}

export interface Account {
  readonly id: string;
  readonly groupId: string;
  readonly baseUrl: string;
  readonly credential: string;
  readonly weight: number;
  readonly priority: number;
  readonly maxConcurrency: number;
  readonly features: ReadonlySet<string>;
  /** Renames that only this account needs; they apply after the model's own. */
  readonly models: ReadonlyMap<string, string>;
}

/** One line of the catalog: a name or a pattern, and what it stands for in one group. */
export interface ModelLine {
  readonly pattern: string;
  readonly upstream: string | null;
  readonly overrides: CapabilityOverrides;
  readonly context: number | null;
  readonly maxOutput: number | null;
  /** Newest first; one may begin in the future. */
  readonly prices: readonly PriceRow[];
}

/** A price that was in force from some moment on. Charges name its row. */
export interface PriceRow {
  readonly id: bigint;
  readonly from: number;
  /** As the configuration says them: decimal strings. */
  readonly rates: unknown;
}

/** A model as a caller named it. */
export interface Model {
  readonly name: string;
  readonly upstream: string;
  readonly line: ModelLine;
}

/** Callers invent names; the memory of resolved ones must not grow with their imagination. */
const MAX_RESOLVED = 2_000;

export class Catalog {
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #accounts: ReadonlyMap<string, readonly Account[]>;
  readonly #lines: ReadonlyMap<string, readonly ModelLine[]>;
  readonly #resolved = new Map<string, Model | undefined>();

  constructor(
    groups: readonly Group[],
    accounts: readonly Account[],
    lines: ReadonlyMap<string, readonly ModelLine[]>,
  ) {
    this.#groups = new Map(groups.map((group) => [group.id, group]));
    this.#accounts = Map.groupBy(accounts, (account) => account.groupId);
    this.#lines = lines;
  }

  group(id: string): Group | undefined {
    return this.#groups.get(id);
  }

  accounts(groupId: string): readonly Account[] {
    return this.#accounts.get(groupId) ?? [];
  }

  lines(groupId: string): readonly ModelLine[] {
    return this.#lines.get(groupId) ?? [];
  }

  /** The first line of the group that matches; `upstream` renames, otherwise the caller's own name is used. */
  resolve(groupId: string, name: string): Model | undefined {
    const id = `${groupId}\n${name}`;
    if (this.#resolved.has(id)) return this.#resolved.get(id);
    const line = this.lines(groupId).find(({ pattern }) =>
      isGlob(pattern) ? matchesGlob(pattern, name) : pattern === name,
    );
    const model = line && { name, upstream: line.upstream ?? name, line };
    if (this.#resolved.size < MAX_RESOLVED) this.#resolved.set(id, model);
    return model;
  }
}

export const priceAt = ({ prices }: ModelLine, now: number): PriceRow | undefined =>
  prices.find(({ from }) => from <= now);

/** The flags a converted request is written for. */
export const capabilitiesFor = (style: Style, model: Model): Capabilities => {
  const flags = capabilitiesOf(style, model.upstream, model.line.overrides);
  return model.line.maxOutput === null ? flags : { ...flags, maxOutput: model.line.maxOutput };
};
