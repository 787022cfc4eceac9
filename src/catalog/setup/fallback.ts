/**
 * Checks of fallbacks on the catalog after a file was applied, which can remove what a stored line names. Two lines may
 * name each other.
 */
import { isGlob } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { SetupFile } from '../../schemas/index.ts';
import { Catalog, fallbackTarget, isUsable, readModelLines } from '../index.ts';
import type { ModelLines } from './effects.ts';
import type { Known } from './references.ts';

const namedIn = (lines: ModelLines, { models }: Pick<SetupFile, 'models'>) =>
  [...lines].flatMap(([group, own]) =>
    own.flatMap((line) =>
      line.fallback.map((text, n) => {
        const index = models.findIndex(({ id, groups }) => id === line.pattern && groups.includes(group));
        const place = index < 0 ? `model ${line.pattern} of ${group}: ` : `models[${index}].`;
        return { path: `${place}fallback[${n}]`, text, group, line, target: fallbackTarget(text, line.pattern) };
      }),
    ),
  );

export function fallbackErrors(file: SetupFile, lines: ModelLines, groups: Known['groups']): string[] {
  const catalog = new Catalog([], [], lines);
  return namedIn(lines, file).flatMap(({ path, text, group, line, target: { groupId, name } }) => {
    const found = `${path}: found "${text}", expected`;
    const style = groups.get(groupId)?.style;
    if (groups.get(group)?.style === 'video') return [`${found} none for a video model`];
    if (style === undefined || style === 'video') return [`${found} a provider group of the file or the database`];
    if (groupId === group) return [`${found} a line of another group`];
    if (line.fallback.indexOf(text) !== Number(/\d+(?=\]$)/.exec(path)?.[0])) return [`${found} it once`];
    if (isGlob(name) ? catalog.lines(groupId).length > 0 : catalog.resolve(groupId, name)) return [];
    return [`${found} a model of group ${groupId}`];
  });
}

export function fallbackWarnings(
  file: SetupFile,
  { lines, now }: { readonly lines: ModelLines; readonly now: number },
  groups: Known['groups'],
): string[] {
  const catalog = new Catalog([], [], lines);
  return namedIn(lines, file)
    .filter(({ path }) => path.startsWith('models['))
    .flatMap(({ path, text, group, line, target: { groupId, name } }) => {
      const [from, to] = [groups.get(group)?.style, groups.get(groupId)?.style];
      const served = catalog.resolve(groupId, name)?.line;
      return [
        ...(from === to
          ? []
          : [
              `${path}: "${text}" has the style ${to}, so that requests are converted there; signatures and hosted tools of ${from} are left out`,
            ]),
        ...(served?.context && (line.context ?? 0) > served.context
          ? [`${path}: "${text}" has a smaller context than "${line.pattern}", so that it cannot take every call`]
          : []),
        ...(served && !isUsable(served, now)
          ? [`${path}: "${text}" has no price, so that it takes no call; set prices or free: true`]
          : []),
      ];
    });
}

/** Lines that are named as fallback and cannot take a call, each with the reason. */
export async function findIdleFallbacks(db: Db, now: number): Promise<string[]> {
  const lines = await readModelLines(db);
  const catalog = new Catalog([], [], lines);
  const accounts = await db.selectFrom('account_groups').select('group_id').distinct().execute();
  const served = new Set(accounts.map((row) => row.group_id));
  return namedIn(lines, { models: [] }).flatMap(({ text, group, line, target: { groupId, name } }) => {
    const named = catalog.resolve(groupId, name)?.line;
    const fault = !served.has(groupId)
      ? `group ${groupId} has no account`
      : isGlob(name)
        ? undefined
        : !named
          ? `group ${groupId} has no such model`
          : isUsable(named, now)
            ? undefined
            : 'it has no price';
    return fault ? [`${text}, the fallback of ${line.pattern} of ${group}, cannot serve: ${fault}`] : [];
  });
}
