/**
 * Makes the database match a configuration file, in one transaction. What the file does not name stays unless `prune`
 * is set; fields that it lacks stay.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { type Actor, type KeySecrets, nameOfKey, saveKey, writeAudit } from '../../access/keys/index.ts';
import { parseNanos, type StoredLimits } from '../../core/index.ts';
import { charge, credit } from '../../ledger/index.ts';
import { ADVISORY_LOCK, commitKnown, type Db, type Tx } from '../../platform/db/index.ts';
import { lockHealth } from '../../providers/pool/index.ts';
import type { VideoVariant } from '../../rules/index.ts';
import { mergeLimits, type NameEffect, type SetupFile } from '../../schemas/index.ts';
import { readModelLines } from '../index.ts';
import { auditChanges, compareObjects, type ObjectDiff, readObjects } from './diff.ts';
import { findEffects, isUnnamedRepricing, type ModelLines, RepricingError } from './effects.ts';
import { fallbackErrors } from './fallback.ts';
import { mergeModelOrder } from './model-order.ts';
import { findUnnamed, isMass, prune, type Removal, RemovalError, removalOf } from './prune.ts';
import { checkReferences } from './references.ts';
import { saveAccount } from './save-account.ts';
import { savePrice } from './save-price.ts';
import { type Change, characterRow, groupRow, modelRow, type RecordChange, saveRow, userRow } from './save-row.ts';
import { ExistsError, located, SetupError } from './setup-document.ts';
import { findUnpriced } from './unpriced.ts';
import { findWarnings } from './warnings.ts';

export interface Applied {
  readonly changes: readonly Change[];
  /** Existing model names that resolve to another line or have another price afterwards. */
  readonly effects: readonly NameEffect[];
  /** Models of provider groups that have no price now and are not free, such as `gpt-5 of openai`. */
  readonly unpriced: readonly string[];
  readonly keys: readonly {
    readonly name: string;
    readonly group: string;
    readonly user: string;
    readonly token: string;
  }[];
  /** Keys of the file that were rotated since; they keep the newer value, which the file does not have. */
  readonly rotated: readonly string[];
  /**
   * Groups, accounts, models and characters of the database that the file does not name; they stay unless it prunes.
   */
  readonly unnamed: readonly string[];
  readonly removal: Removal | undefined;
  readonly warnings: readonly string[];
  readonly diff: readonly ObjectDiff[];
}
export interface ApplyOptions {
  readonly secrets: KeySecrets;
  readonly prune?: boolean;
  /** Reports what would change, then rolls back. */
  readonly dryRun?: boolean;
  /** Rejects a file that changes the price of model names which it does not name. */
  readonly refuseRepricing?: boolean;
  /** Rejects a prune that removes more than it keeps, unless it removes as many objects as `confirmed`. */
  readonly refuseRemoval?: { readonly confirmed: number | undefined };
  readonly createOnly?: boolean;
  /** For the audit log; `file` by default, as for a configuration that is applied at start. */
  readonly by?: Actor;
  /** References of opening balances by user, where they do not come from a file; `open:` and the user by default. */
  readonly openings?: ReadonlyMap<string, string>;
  readonly also?: (tx: Tx) => Promise<void>;
}

/**
 * Concurrent changes of the configuration run one after the other. Taken before any row is locked, so that none waits
 * for another.
 */
export async function lockSetup(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK})`.execute(tx);
  await lockHealth(tx);
}

export async function applySetup(db: Db, file: SetupFile, options: ApplyOptions): Promise<Applied> {
  let applied: Applied | undefined;
  const rollback = new Error('dry run');
  try {
    await commitKnown(db, async (tx) => {
      await lockSetup(tx);
      const known = await readKnown(tx);
      const lines = checkReferences(file, known, { prune: options.prune === true });
      if (lines.length > 0) throw new SetupError(located(file, lines));
      const before = await readModelLines(tx);
      const objects = await readObjects(tx, file);
      if (options.createOnly) rejectExisting(file, objects);
      const by = options.by ?? { actor: 'file' };
      const done = await applyAll(tx, file, { ...options, by, erased: known.erased, before });
      await options.also?.(tx);
      const diff = compareObjects(objects, await readObjects(tx, file));
      const { groups } = await readKnown(tx);
      const after = await readModelLines(tx);
      const faults = fallbackErrors(file, after, groups);
      if (faults.length > 0) throw new SetupError(located(file, faults));
      applied = {
        ...done,
        effects: done.changes.length === 0 ? [] : await findEffects(tx, { before, after }, file),
        unpriced: await findUnpriced(tx),
        removal: options.prune ? await removalOf(tx, done.changes) : undefined,
        warnings: [
          ...located(file, erasedLines(file, known.erased)),
          ...(await findWarnings(tx, file, { groups, lines: after }, options.secrets.sealer)),
        ],
        diff,
      };
      if (options.dryRun) throw rollback;
      expectPermitted(applied, options);
      const { changes, effects } = applied;
      await auditChanges(tx, by, diff);
      if (changes.length > 0)
        await writeAudit(tx, by, {
          action: 'config.applied',
          subject: 'config',
          after: { changes, ...(effects.length > 0 && { effects }), ...(options.prune && { prune: true }) },
        });
    });
  } catch (error) {
    if (error !== rollback) throw error;
  }
  if (!applied) throw new TypeError('the transaction ended without a result');
  return applied;
}

async function readKnown(tx: Tx) {
  const groups = await tx.selectFrom('groups').select(['id', 'style', 'variant']).execute();
  const users = await tx.selectFrom('users').select(['id', 'erased_at']).execute();
  const kindOf = ({ style, variant }: (typeof groups)[number]) => ({
    style,
    variant: (variant ?? undefined) as VideoVariant | undefined,
  });
  return {
    groups: new Map(groups.map((row) => [row.id, kindOf(row)])),
    users: new Set(users.map((row) => row.id)),
    erased: new Set(users.filter((row) => row.erased_at).map((row) => row.id)),
  };
}

/** A file that still names an erased user must not keep a server from starting. */
const erasedLines = ({ users }: SetupFile, erased: ReadonlySet<string>): string[] =>
  users.flatMap(({ id }, n) =>
    erased.has(id)
      ? [`users[${n}].id: "${id}" was erased, so that the entry and its keys have no effect; remove them`]
      : [],
  );

function expectPermitted({ removal, effects }: Applied, { refuseRemoval, refuseRepricing }: ApplyOptions): void {
  if (refuseRemoval && removal && isMass(removal) && refuseRemoval.confirmed !== removal.removed)
    throw new RemovalError(removal);
  const unnamed = refuseRepricing ? effects.filter(isUnnamedRepricing) : [];
  if (unnamed.length > 0) throw new RepricingError(unnamed);
}

/** Names the first field of the file that names something of the database. */
function rejectExisting(file: SetupFile, stored: ReadonlyMap<string, unknown>): void {
  const named = [
    ...file.groups.map(({ id }, n) => [`groups[${n}].id`, `group ${id}`] as const),
    ...file.accounts.map(({ id }, n) => [`accounts[${n}].id`, `account ${id}`] as const),
    ...file.models.flatMap(({ id, groups }, n) =>
      groups.map((group) => [`models[${n}].id`, `model ${id} of ${group}`] as const),
    ),
    ...file.users.map(({ id }, n) => [`users[${n}].id`, `user ${id}`] as const),
    ...file.keys.map(
      ({ name = 'default', user, group }, n) => [`keys[${n}].name`, `key ${name} of ${user} in ${group}`] as const,
    ),
    ...file.characters.map(({ id }, n) => [`characters[${n}].id`, `character ${id}`] as const),
  ];
  const found = named.find(([, object]) => stored.has(object));
  if (found) throw new ExistsError(found[0], found[1]);
}

async function applyAll(
  tx: Tx,
  file: SetupFile,
  options: ApplyOptions & { readonly by: Actor; readonly erased: ReadonlySet<string>; readonly before: ModelLines },
): Promise<Pick<Applied, 'changes' | 'keys' | 'rotated' | 'unnamed'>> {
  const changes: Change[] = [];
  const recordChange: RecordChange = (what, object) => {
    if (what) changes.push({ what, object });
  };
  for (const [position, group] of file.groups.entries())
    recordChange(await saveRow(tx, groupRow(group, position)), `group ${group.id}`);
  for (const [position, account] of file.accounts.entries())
    recordChange(await saveAccount(tx, { account, position, sealer: options.secrets.sealer }), `account ${account.id}`);
  await applyModels(tx, file.models, recordChange, options);
  for (const user of file.users)
    if (!options.erased.has(user.id)) recordChange(await applyUser(tx, user, options.openings), `user ${user.id}`);
  const { created, rotated } = await applyKeys(tx, file, options, recordChange);
  for (const [position, character] of file.characters.entries())
    recordChange(await saveRow(tx, characterRow(character, position)), `character ${character.id}`);
  if (options.prune) await prune(tx, file, recordChange);
  return { changes, keys: created, rotated, unnamed: (await findUnnamed(tx, file)).map(({ object }) => object) };
}

async function applyModels(
  tx: Tx,
  models: SetupFile['models'],
  recordChange: RecordChange,
  { by, before }: { readonly by: Actor; readonly before: ModelLines },
): Promise<void> {
  for (const [position, model] of models.entries())
    for (const group of model.groups)
      recordChange(await applyModel(tx, model, { group, position, by }), `model ${model.id} of ${group}`);
  for (const group of new Set(models.flatMap((model) => model.groups))) {
    const named = models.filter(({ groups }) => groups.includes(group)).map(({ id }) => id);
    const stored = (before.get(group) ?? []).map(({ pattern }) => pattern);
    await orderModels(tx, { group, stored, named }, recordChange);
  }
}

interface ModelOrder {
  readonly group: string;
  readonly stored: readonly string[];
  readonly named: readonly string[];
}

async function orderModels(tx: Tx, { group, stored, named }: ModelOrder, recordChange: RecordChange): Promise<void> {
  const order = mergeModelOrder(stored, named);
  if (stored.length === 0 || isDeepStrictEqual(order, stored)) return;
  for (const [position, pattern] of order.entries())
    await saveRow(tx, { table: 'models', identity: { group_id: group, pattern }, columns: { position } });
  const known = new Set(stored);
  const kept = order.filter((pattern) => known.has(pattern));
  recordChange(isDeepStrictEqual(kept, stored) ? undefined : 'changed', `order of the models of ${group}`);
}

interface ModelPlace {
  readonly group: string;
  readonly position: number;
  readonly by: Actor;
}

async function applyModel(tx: Tx, model: SetupFile['models'][number], { group, position, by }: ModelPlace) {
  const saved = await saveRow(tx, modelRow(model, group, position));
  const hasNewPrice = (model.prices || model.cost || model.free) && (await applyPrice(tx, model, group, by));
  return saved ?? (hasNewPrice ? 'changed' : undefined);
}

async function applyPrice(tx: Tx, model: SetupFile['models'][number], group: string, by: Actor): Promise<boolean> {
  const { id } = await tx
    .selectFrom('models')
    .select('id')
    .where('group_id', '=', group)
    .where('pattern', '=', model.id)
    .executeTakeFirstOrThrow();
  // A free model has no rates from then on; the row of its earlier price stays for the charges made with it.
  const rates = model.free ? {} : model.prices;
  const input = { rates, cost: model.cost, validFrom: model.valid_from };
  return savePrice(tx, { id, group, model: model.id }, input, by);
}

async function applyUser(tx: Tx, user: SetupFile['users'][number], openings: ApplyOptions['openings']) {
  const saved = await saveRow(tx, userRow(user, limitsOf(user)));
  const nanos = user.balance === undefined ? 0n : (parseNanos(user.balance) ?? 0n);
  if (nanos === 0n) return saved;
  // The reference makes the opening entry happen once per user; later files do not change it.
  const reference = openings?.get(user.id) ?? `open:${user.id}`;
  const entry = { userId: user.id, nanos: nanos < 0n ? -nanos : nanos, reference, reason: 'opening balance' };
  const isNew = nanos < 0n ? await charge(tx, { ...entry, to: '@adjustment' }) : await credit(tx, entry);
  return saved ?? (isNew ? 'changed' : undefined);
}

async function applyKeys(
  tx: Tx,
  file: SetupFile,
  { secrets, erased }: Pick<ApplyOptions, 'secrets'> & { readonly erased: ReadonlySet<string> },
  recordChange: RecordChange,
): Promise<{ readonly created: Applied['keys']; readonly rotated: Applied['rotated'] }> {
  const created: Applied['keys'][number][] = [];
  const rotated: string[] = [];
  for (const [index, key] of file.keys.entries()) {
    if (erased.has(key.user)) continue;
    const name = nameOfKey(key);
    const { change, value, isRotated } = await saveKey(tx, key, secrets).catch((error: unknown) => {
      if (!isHashTaken(error)) throw error;
      throw new SetupError(
        located(file, [`keys[${index}].key: found the value of another key, expected a unique value`]),
      );
    });
    recordChange(change, `key ${name} of ${key.user} in ${key.group}`);
    if (value) created.push({ name, group: key.group, user: key.user, token: value });
    if (isRotated) rotated.push(`${name} of ${key.user} in ${key.group}`);
  }
  return { created, rotated };
}

/** The limits of an entry replace all stored limits; an entry without limits keeps them. */
function limitsOf(entry: SetupFile['users'][number]): StoredLimits | undefined {
  const limits = mergeLimits({}, entry);
  return Object.keys(limits).length > 0 ? limits : undefined;
}

const isHashTaken = (error: unknown): boolean =>
  error instanceof Error && 'constraint' in error && error.constraint === 'keys_hash_key';
