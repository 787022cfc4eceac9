/**
 * Makes the database match a configuration file: one transaction, nothing half applied, a second run changes nothing. Objects
 * that the file does not name are left alone unless pruning is asked for; fields that it does not give keep their value.
 */
import { type Insertable, sql, type Transaction } from 'kysely';
import { credentialLocation } from '../catalog/index.ts';
import { newId, parseNanos, parsePpm, type SealLocation, type StoredLimits, WrongMasterKey } from '../core/index.ts';
import type { Db, Rows } from '../db/index.ts';
import { type Actor, type KeySecrets, revokeKey, saveKey, writeAudit } from '../identity/index.ts';
import { credit } from '../ledger/index.ts';
import { FEATURES } from '../rules/index.ts';
import { checkReferences } from './references.ts';
import { savePrice } from './save-price.ts';
import { SetupError, type SetupFile } from './schema.ts';

export interface Change {
  readonly what: 'made' | 'changed' | 'removed' | 'revoked';
  /** For people: `account oa1`. */
  readonly object: string;
}
export interface Applied {
  readonly changes: readonly Change[];
  /** Keys that were made here; their values are shown once. */
  readonly keys: readonly {
    readonly name: string;
    readonly group: string;
    readonly user: string;
    readonly token: string;
  }[];
}
export interface ApplyOptions {
  readonly secrets: KeySecrets;
  readonly prune?: boolean;
  /** Finds out what would change and takes it all back. */
  readonly dryRun?: boolean;
  /** Whose wish it is; a file that a start applies is its own. */
  readonly by?: Actor;
}

type Tx = Transaction<Rows>;

/** Two files that are applied at the same moment follow one another. */
export const SETUP_LOCK = 0x64726167;

export async function applySetup(db: Db, file: SetupFile, options: ApplyOptions): Promise<Applied> {
  let applied: Applied = { changes: [], keys: [] };
  const dry = new Error('dry run');
  try {
    await db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(${SETUP_LOCK})`.execute(tx);
      const lines = checkReferences(file, await readKnown(tx), { prune: options.prune === true });
      if (lines.length > 0) throw new SetupError(lines);
      applied = await applyAll(tx, file, options);
      if (options.dryRun) throw dry;
      const { changes } = applied;
      if (changes.length > 0)
        await writeAudit(tx, options.by ?? { actor: 'file' }, {
          action: 'config.applied',
          subject: 'config',
          after: { changes, ...(options.prune && { prune: true }) },
        });
    });
  } catch (error) {
    if (error !== dry) throw error;
  }
  return applied;
}

async function readKnown(tx: Tx) {
  const groups = await tx.selectFrom('groups').select(['id', 'style']).execute();
  const users = await tx.selectFrom('users').select('id').execute();
  return { groups: new Map(groups.map((row) => [row.id, row.style])), users: new Set(users.map((row) => row.id)) };
}

async function applyAll(tx: Tx, file: SetupFile, options: ApplyOptions): Promise<Applied> {
  const changes: Change[] = [];
  const note = (what: Change['what'] | undefined, object: string): void => {
    if (what) changes.push({ what, object });
  };
  for (const [position, group] of file.groups.entries())
    note(await applyGroup(tx, group, position), `group ${group.id}`);
  for (const [position, account] of file.accounts.entries()) {
    note(await applyAccount(tx, account, position, options.secrets), `account ${account.id}`);
  }
  for (const [position, model] of file.models.entries()) {
    for (const group of model.groups)
      note(await applyModel(tx, model, group, position), `model ${model.id} of ${group}`);
  }
  for (const user of file.users) note(await applyUser(tx, user), `user ${user.id}`);
  const keys = await applyKeys(tx, file.keys, options.secrets, note);
  for (const [position, character] of file.characters.entries()) {
    note(await applyCharacter(tx, character, position), `character ${character.id}`);
  }
  if (options.prune) await prune(tx, file, note);
  return { changes, keys };
}

const applyGroup = (tx: Tx, group: SetupFile['groups'][number], position: number) =>
  save(
    tx,
    'groups',
    { id: group.id },
    {
      style: group.style,
      variant: group.variant ?? null,
      name: group.name,
      multiplier_ppm: ppm(group.multiplier),
      position,
    },
    { name: group.id },
  );

async function applyAccount(tx: Tx, account: SetupFile['accounts'][number], position: number, { sealer }: KeySecrets) {
  const { style } = await tx
    .selectFrom('groups')
    .select('style')
    .where('id', '=', account.group)
    .executeTakeFirstOrThrow();
  const stored = await tx
    .selectFrom('accounts')
    .select(['credential_sealed', 'assets_secret_sealed'])
    .where('id', '=', account.id)
    .executeTakeFirst();
  // Sealing the same secret twice gives two texts, so compare what is inside; else every run would look like a change.
  const kept = (sealed: string | null | undefined, place: SealLocation, secret: string): string => {
    try {
      if (sealed && sealer.open(sealed, place) === secret) return sealed;
    } catch (error) {
      // What does not open any more is exactly what the file can put right.
      if (!(error instanceof WrongMasterKey)) throw error;
    }
    return sealer.seal(secret, place);
  };
  const { secret_key: assetsSecret, ...assets } = account.assets ?? { secret_key: undefined };
  return save(
    tx,
    'accounts',
    { id: account.id },
    {
      group_id: account.group,
      base_url: account.base_url,
      credential_sealed: kept(stored?.credential_sealed, credentialLocation(account.id), account.api_key),
      weight: account.weight,
      priority: account.priority,
      max_concurrency: account.max_concurrency,
      cost_multiplier_ppm: ppm(account.cost_multiplier),
      features: account.features,
      models: account.models && JSON.stringify(account.models),
      result_hosts: account.result_hosts,
      assets: account.assets && JSON.stringify(assets),
      assets_secret_sealed:
        assetsSecret && kept(stored?.assets_secret_sealed, `accounts.assets_secret:${account.id}`, assetsSecret),
      position,
    },
    { weight: 1, max_concurrency: 64, features: [...FEATURES[style as keyof typeof FEATURES]] },
  );
}

async function applyModel(tx: Tx, model: SetupFile['models'][number], group: string, position: number) {
  const saved = await save(
    tx,
    'models',
    { group_id: group, pattern: model.id },
    {
      upstream: model.upstream,
      capabilities: model.capabilities && JSON.stringify(model.capabilities),
      context: model.context,
      max_output: model.max_output,
      position,
    },
  );
  const priced = (model.prices || model.cost) && (await applyPrice(tx, model, group));
  return saved ?? (priced ? 'changed' : undefined);
}

async function applyPrice(tx: Tx, model: SetupFile['models'][number], group: string): Promise<boolean> {
  const { id } = await tx
    .selectFrom('models')
    .select('id')
    .where('group_id', '=', group)
    .where('pattern', '=', model.id)
    .executeTakeFirstOrThrow();
  return savePrice(tx, id, { rates: model.prices, cost: model.cost, validFrom: model.valid_from });
}

async function applyUser(tx: Tx, user: SetupFile['users'][number]) {
  const limits = limitsOf(user);
  const saved = await save(
    tx,
    'users',
    { id: user.id },
    { email: user.email, multiplier_ppm: ppm(user.multiplier), limits: limits && JSON.stringify(limits) },
  );
  const nanos = user.balance === undefined ? 0n : (parseNanos(user.balance) ?? 0n);
  if (nanos === 0n) return saved;
  // An opening credit is booked once per user, whatever later files say.
  const isNew = await credit(tx, {
    userId: user.id,
    nanos,
    reference: `open:${user.id}`,
    reason: 'opening balance',
  });
  return saved ?? (isNew ? 'changed' : undefined);
}

async function applyKeys(
  tx: Tx,
  keys: SetupFile['keys'],
  secrets: KeySecrets,
  note: (what: Change['what'] | undefined, object: string) => void,
): Promise<Applied['keys']> {
  const made: Applied['keys'][number][] = [];
  for (const [n, key] of keys.entries()) {
    const name = key.name ?? 'default';
    const saved = await saveKey(
      tx,
      {
        user: key.user,
        group: key.group,
        name,
        token: key.key,
        videoGroups: key.video_groups,
        allowedModels: key.models,
        allowedAddresses: key.addresses,
        limits: limitsOf(key),
        store: key.store,
        expiresAt: key.expires_at === undefined ? undefined : new Date(key.expires_at),
      },
      secrets,
    ).catch((error: unknown) => {
      if (!isTaken(error)) throw error;
      throw new SetupError([`keys[${n}].key: found the value of another key, expected one of its own`]);
    });
    note(saved.what, `key ${name} of ${key.user} in ${key.group}`);
    if (saved.made) made.push({ name, group: key.group, user: key.user, token: saved.made });
  }
  return made;
}

/** All limits of an object or none: those that a file names replace those that were there. */
function limitsOf(entry: { [K in keyof StoredLimits]?: StoredLimits[K] | undefined }): StoredLimits | undefined {
  const { rpm, tpm, concurrency, spend_day, spend_month } = entry;
  const limits = defined<StoredLimits>({ rpm, tpm, concurrency, spend_day, spend_month });
  return Object.keys(limits).length > 0 ? limits : undefined;
}

const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'constraint' in error && error.constraint === 'keys_hash_key';

const applyCharacter = (tx: Tx, character: SetupFile['characters'][number], position: number) =>
  save(
    tx,
    'characters',
    { id: character.id },
    {
      group_id: character.group,
      models: character.models,
      upstream_asset: character.upstream_asset,
      name: character.name,
      tags: character.tags,
      gender: character.gender,
      age_group: character.age_group,
      nationality: character.nationality,
      preview_url: character.preview_url,
      position,
    },
    { public_id: newId('char') },
  );

type Table = 'groups' | 'accounts' | 'models' | 'users' | 'characters';

/**
 * Inserts, or updates when a column differs; says which of the two happened, if any. Looks before it writes: a statement that
 * touches no row would still move the revision and wake every replica.
 */
async function save<T extends Table>(
  tx: Tx,
  table: T,
  identity: Record<string, string>,
  columns: Record<string, unknown>,
  defaults: Record<string, unknown> = {},
): Promise<Change['what'] | undefined> {
  const wanted = defined<Record<string, unknown>>(columns);
  const entries = Object.entries(wanted);
  const where = sql.join(
    Object.entries(identity).map(([name, value]) => sql`${sql.ref(name)} = ${value}`),
    sql` and `,
  );
  const differs = sql.join(
    [sql`false`, ...entries.map(([name, value]) => sql`${sql.ref(name)} is distinct from ${value}`)],
    sql` or `,
  );
  const { rows } = await sql<{ differs: boolean }>`
    select ${differs} as differs from ${sql.table(table)} where ${where}`.execute(tx);
  const [stored] = rows;
  if (!stored) {
    const row = { ...identity, ...defaults, ...wanted } as Insertable<Rows[T]>;
    await tx
      .insertInto(table)
      .values(row as never)
      .execute();
    return 'made';
  }
  if (!stored.differs) return undefined;
  const assign = sql.join(entries.map(([name, value]) => sql`${sql.ref(name)} = ${value}`));
  await sql`update ${sql.table(table)} set ${assign} where ${where}`.execute(tx);
  return 'changed';
}

/**
 * Users are never pruned: they own money and history. Keys are revoked rather than removed, for the same reason, and prices that
 * charges may name stay when their model goes.
 */
async function prune(tx: Tx, file: SetupFile, note: (what: Change['what'], object: string) => void): Promise<void> {
  const named = {
    characters: new Set(file.characters.map(({ id }) => id)),
    accounts: new Set(file.accounts.map(({ id }) => id)),
    groups: new Set(file.groups.map(({ id }) => id)),
  };
  const keys = new Set(file.keys.map((key) => `${key.user}/${key.group}/${key.name ?? 'default'}`));
  for (const key of await tx.selectFrom('keys').selectAll().where('revoked_at', 'is', null).execute()) {
    if (keys.has(`${key.user_id}/${key.group_id}/${key.name}`)) continue;
    await revokeKey(tx, key.id);
    note('revoked', `key ${key.name} of ${key.user_id} in ${key.group_id}`);
  }
  const models = new Set(file.models.flatMap((model) => model.groups.map((group) => `${group}/${model.id}`)));
  for (const model of await tx.selectFrom('models').selectAll().execute()) {
    if (models.has(`${model.group_id}/${model.pattern}`)) continue;
    await tx.deleteFrom('models').where('id', '=', model.id).execute();
    note('removed', `model ${model.pattern} of ${model.group_id}`);
  }
  for (const table of ['characters', 'accounts', 'groups'] as const) {
    for (const { id } of await tx.selectFrom(table).select('id').execute()) {
      if (named[table].has(id)) continue;
      await tx.deleteFrom(table).where('id', '=', id).execute();
      note('removed', `${table.slice(0, -1)} ${id}`);
    }
  }
}

const ppm = (factor: string | undefined): number | undefined => (factor === undefined ? undefined : parsePpm(factor));

const defined = <T>(value: { [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
