/**
 * What replies have shown that a line can do, kept with the line, so that every replica reserves for it from then on.
 * Never on the path of a call.
 */
import { sql } from 'kysely';
import { errorFields, type Log } from '../core/index.ts';
import type { Db } from '../platform/db/index.ts';
import { ABILITY_NAMES, type Abilities } from '../rules/index.ts';
import type { Learned, ModelLine } from './catalog.ts';

/** Bounds the names of tiers that one line keeps: a provider chooses them. */
const MAX_TIERS = 8;
const MAX_TIER_NAME = 64;

/** What one reply showed. */
export interface LineLesson {
  readonly line: ModelLine;
  readonly group: string;
  readonly abilities: Partial<Abilities>;
  readonly tier?: string | undefined;
}

export class LineLessons {
  readonly #db: Db;
  readonly #log: Log;
  /** Lines that are being written. A lesson that comes meanwhile comes again with the next such reply. */
  readonly #writing = new Set<bigint>();

  constructor({ db, log }: { readonly db: Db; readonly log: Log }) {
    this.#db = db;
    this.#log = log;
  }

  /** Warns and keeps what is new. The reply is charged whatever becomes of it. */
  learn(lesson: LineLesson): void {
    const { line, group } = lesson;
    const added = additionOf(lesson);
    if (!added || this.#writing.has(line.id)) return;
    const { tiers = [], ...abilities } = added;
    this.#log.warn('capability.exceeded', {
      group,
      line: line.pattern,
      ...(tiers.length > 0 && { tiers: tiers.join(', ') }),
      ...(Object.keys(abilities).length > 0 && { add: `capabilities: ${JSON.stringify(abilities)}` }),
    });
    this.#writing.add(line.id);
    this.#write(line.id, added)
      .catch((error: unknown) => this.#log.warn('capability.not_kept', { line: line.pattern, ...errorFields(error) }))
      .finally(() => this.#writing.delete(line.id));
  }

  /** Keeps the larger of two counts: another replica may have learned more meanwhile. */
  async #write(lineId: bigint, added: Addition): Promise<void> {
    await this.#db.transaction().execute(async (tx) => {
      const { rows } = await sql<{ learned: Addition }>`
        select learned from models where id = ${lineId} for update`.execute(tx);
      const [row] = rows;
      if (!row) return;
      const learned = mergeAdditions(row.learned, added);
      if (JSON.stringify(learned) !== JSON.stringify(row.learned))
        await sql`update models set learned = ${JSON.stringify(learned)}::jsonb where id = ${lineId}`.execute(tx);
    });
  }
}

type Addition = Partial<Abilities> & { readonly tiers?: readonly string[] };

/** What the line neither knows nor states; undefined for nothing. What an operator states is not learned again. */
function additionOf({ line: { learned, overrides }, abilities, tier }: LineLesson): Addition | undefined {
  const names = ABILITY_NAMES.filter(
    (name) => overrides[name] === undefined && Number(abilities[name] ?? 0) > Number(learned.abilities[name] ?? 0),
  );
  const isNewTier =
    tier !== undefined &&
    tier.length <= MAX_TIER_NAME &&
    !learned.tiers.includes(tier) &&
    learned.tiers.length < MAX_TIERS;
  if (names.length === 0 && !isNewTier) return undefined;
  return {
    ...Object.fromEntries(names.map((name) => [name, abilities[name]])),
    ...(isNewTier && { tiers: [tier] }),
  };
}

function mergeAdditions(before: Addition, added: Addition): Addition {
  const names = ABILITY_NAMES.filter((name) => (before[name] ?? added[name]) !== undefined);
  const tiers = [...new Set([...(before.tiers ?? []), ...(added.tiers ?? [])])].slice(0, MAX_TIERS);
  return {
    ...Object.fromEntries(
      names.map((name) => [name, Number(added[name] ?? 0) > Number(before[name] ?? 0) ? added[name] : before[name]]),
    ),
    ...(tiers.length > 0 && { tiers }),
  };
}

/** Of the column `models.learned`. */
export function learnedIn(stored: unknown): Learned {
  const { tiers = [], ...abilities } = stored as Addition;
  return { abilities, tiers };
}
