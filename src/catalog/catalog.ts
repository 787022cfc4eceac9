/**
 * The catalog: groups, accounts and models, as one immutable snapshot in memory. A call in flight keeps the one it
 * started with.
 */
import { isGlob, matchesGlob } from '../core/index.ts';
import type { PooledAccount } from '../providers/pool/index.ts';
import type { ReachedAccount } from '../providers/upstream/index.ts';
import * as rules from '../rules/index.ts';

export interface Group {
  readonly id: string;
  readonly style: rules.Style | 'video';
  readonly variant: rules.VideoVariant | null;
  readonly name: string;
  readonly multiplierPpm: bigint;
  readonly unknownMembers: rules.UnknownMembers;
}

/** An account of several groups is one object in each, with one credential, health and concurrency limit. */
export interface Account extends PooledAccount, ReachedAccount {
  readonly adapter: rules.VideoAdapter;
  /** Reads of video tasks; undefined: the setting of the installation. */
  readonly pollsPerSecond?: number | undefined;
  readonly features: ReadonlySet<string>;
  /** How its server differs from OpenAI's, where it is used by chat completions. */
  readonly preset?: rules.ChatPreset;
  /** What the operator knows about its server; overrides the preset and the model. */
  readonly capabilities?: rules.CapabilityOverrides;
  /** Model names of this account only; applied after `upstream` of the model. */
  readonly models: ReadonlyMap<string, string>;
  /** Hosts, or patterns with `*`, beside its own origin from which results of video tasks may be fetched. */
  readonly resultHosts: readonly string[];
  /** Access to the provider's asset library; only video accounts have one. */
  readonly assets?: AssetSettings | undefined;
}

/**
 * Address and credential: accounts with the same ones see the same objects of the provider. Contains the credential.
 */
export function providerIdentity({ baseUrl, credential }: Pick<Account, 'baseUrl' | 'credential'>): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}\n${credential}`;
}

export type AssetSettings = Readonly<Record<'baseUrl' | 'accessKey' | 'secretKey' | 'region' | 'project', string>>;

/** What replies have shown that a line can do, or may be served as, beyond what was known. */
export interface Learned {
  readonly abilities: Partial<rules.Abilities>;
  readonly tiers: readonly string[];
}

export interface ModelLine {
  readonly id: bigint;
  readonly pattern: string;
  readonly upstream: string | null;
  readonly overrides: rules.CapabilityOverrides;
  readonly learned: Learned;
  readonly context: number | null;
  readonly maxOutput: number | null;
  /** Lines of other groups, in the order in which they are tried: see `fallbackTarget`. */
  readonly fallback: readonly string[];
  /** Served without a charge while no price is in force. */
  readonly isFree: boolean;
  /** Newest first; some may start in the future. */
  readonly prices: readonly PriceRow[];
}

/** A price and the time it starts at. Charges refer to its row. */
export interface PriceRow {
  readonly id: bigint;
  readonly from: number;
  /** Decimal strings, as in the configuration. */
  readonly rates: unknown;
}

export interface Model {
  readonly name: string;
  readonly upstream: string;
  readonly line: ModelLine;
}

export interface FallbackLine {
  readonly group: Group & { readonly style: rules.Style };
  readonly model: Model;
}

/** `group/model`, or `group` for the name of the request. */
export function fallbackTarget(line: string, name: string): { readonly groupId: string; readonly name: string } {
  const slash = line.indexOf('/');
  return slash < 0 ? { groupId: line, name } : { groupId: line.slice(0, slash), name: line.slice(slash + 1) };
}

/** Bound of the cache: callers may send any number of different names. */
const MAX_RESOLVED = 2_000;

export class Catalog {
  readonly #groups: ReadonlyMap<string, Group>;
  readonly #accounts: ReadonlyMap<string, readonly Account[]>;
  readonly #all: readonly Account[];
  readonly #lines: ReadonlyMap<string, readonly ModelLine[]>;
  readonly #fallingBack: ReadonlySet<string>;
  readonly #resolved = new Map<string, Model | undefined>();

  constructor(
    groups: readonly Group[],
    accounts: readonly Account[],
    lines: ReadonlyMap<string, readonly ModelLine[]>,
  ) {
    this.#groups = new Map(groups.map((group) => [group.id, group]));
    this.#accounts = Map.groupBy(accounts, (account) => account.groupId);
    this.#all = accounts.filter(({ groupId, groups = [groupId] }) => groups[0] === groupId);
    this.#lines = lines;
    this.#fallingBack = new Set(
      [...lines].flatMap(([group, own]) => (own.some(({ fallback }) => fallback.length > 0) ? [group] : [])),
    );
  }

  groups(): readonly Group[] {
    return [...this.#groups.values()];
  }

  group(id: string): Group | undefined {
    return this.#groups.get(id);
  }

  accounts(groupId: string): readonly Account[] {
    return this.#accounts.get(groupId) ?? [];
  }

  /** Each once: as in its first group. */
  allAccounts(): readonly Account[] {
    return this.#all;
  }

  groupsOf(accountId: string | undefined): readonly string[] {
    const account = this.#all.find(({ id }) => id === accountId);
    return account ? (account.groups ?? [account.groupId]) : [];
  }

  /** With a group, only while the account is one of it. */
  account(id: string | null, groupId?: string): Account | undefined {
    const accounts = groupId === undefined ? this.allAccounts() : this.accounts(groupId);
    return accounts.find((account) => account.id === id);
  }

  lines(groupId: string): readonly ModelLine[] {
    return this.#lines.get(groupId) ?? [];
  }

  /** Resolves a name by the first matching line of the group. Without `upstream` the name is sent as it is. */
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

  mayFallBack(groupId: string): boolean {
    return this.#fallingBack.has(groupId);
  }

  fallsBackTo(groupId: string, otherId: string): boolean {
    return this.lines(groupId).some(({ fallback }) =>
      fallback.some((text) => fallbackTarget(text, '').groupId === otherId),
    );
  }

  /**
   * The lines that take the calls of a model, in the order in which they are tried. Those that were removed meanwhile
   * are left out.
   */
  fallbackLines({ name, line }: Model): FallbackLine[] {
    return line.fallback.flatMap((text) => {
      const target = fallbackTarget(text, name);
      const group = this.group(target.groupId);
      const model = this.resolve(target.groupId, target.name);
      return group && model && isProviderGroup(group) ? [{ group, model }] : [];
    });
  }
}

const isProviderGroup = (group: Group): group is FallbackLine['group'] => group.style !== 'video';

/** Whether private assets can be kept in the account. Another Dragoman has them behind the same key as its tasks. */
export const hasAssetLibrary = ({ adapter, assets }: Pick<Account, 'adapter' | 'assets'>): boolean =>
  adapter === 'dragoman' || assets !== undefined;

/** The price in force. A row without rates says that there is none from its start on. */
export function priceAt({ prices }: ModelLine, now: number): PriceRow | undefined {
  const price = prices.find(({ from }) => from <= now);
  return price && hasRates(price.rates) ? price : undefined;
}

export const isUsable = (line: ModelLine, now: number): boolean => line.isFree || priceAt(line, now) !== undefined;

const hasRates = (rates: unknown): boolean =>
  typeof rates === 'object' && rates !== null && Object.keys(rates).length > 0;

export interface CapabilityTarget {
  readonly account: Account;
  readonly dialect: rules.UpstreamDialect;
}

function serverFlags({ preset }: Account, dialect: rules.UpstreamDialect, model: string): rules.CapabilityOverrides {
  if (dialect === 'converse') return rules.converseFlags(model);
  return dialect === 'chat' ? rules.chatPresetFlags(preset ?? 'generic') : {};
}

/** The capabilities that a converted request is encoded for. Without a target, those of the model alone. */
export const capabilitiesFor = (style: rules.Style, model: Model, target?: CapabilityTarget): rules.Capabilities => {
  const { account, dialect = 'chat' } = target ?? {};
  const server = account ? serverFlags(account, dialect, model.upstream) : {};
  const flags = rules.capabilitiesOf(
    rules.styleOf(dialect, style),
    model.upstream,
    server,
    model.line.overrides,
    account?.capabilities ?? {},
  );
  return model.line.maxOutput === null ? flags : { ...flags, maxOutput: model.line.maxOutput };
};

const abilities = new WeakMap<Model, { readonly rates: object; readonly can: rules.Abilities }>();

/** What the model can do by itself. Kept, because every call asks. */
export function abilitiesFor(model: Model, rates: rules.PricedAbilities): rules.Abilities {
  const kept = abilities.get(model);
  if (kept?.rates === rates) return kept.can;
  const { overrides: stated, learned } = model.line;
  const can = rules.abilitiesOf(model.upstream, rates, { stated, learned: learned.abilities });
  abilities.set(model, { rates, can });
  return can;
}
