/**
 * The models that a key of the signed-in person's user can call: what each is, what it costs this user, and what it
 * accepts.
 */
import { z } from 'zod';
import { findKeyOfUser, type Key } from '../../access/keys/index.ts';
import { capabilitiesFor, type Group, isUsable, type ModelLine, priceAt } from '../../catalog/index.ts';
import { formatNanos, isGlob, matchesGlob, notFound, parseNanos } from '../../core/index.ts';
import { type Db, firstRow } from '../../platform/db/index.ts';
import { type Style, sheetMembers, sheetOf, type VideoSheet } from '../../rules/index.ts';
import type { ModelKind, OwnModel } from '../../schemas/index.ts';
import { param, wholeList } from '../admin/index.ts';
import { type ConsoleServices, ownOperation } from './services.ts';

const ModelsQuery = z.strictObject({
  user: param.user,
  key: z.string().max(100).describe('of this key (`key_...`); by default the first valid key of the user').optional(),
});

const firstKey = (db: Db, userId: string, now: number) =>
  firstRow(db)<{ id: string }>`
    select id from keys where user_id = ${userId} and revoked_at is null and (expires_at is null or expires_at > ${new Date(now)})
    order by id limit 1`;

async function modelsOf(gateway: ConsoleServices['gateway'], key: Key, now: number): Promise<OwnModel[]> {
  const catalog = gateway.catalog();
  const text = await gateway.listModels(key);
  const videos = catalog
    .groups()
    .filter(({ id, style }) => style === 'video' && (key.videoGroups === null || key.videoGroups.includes(id)))
    .flatMap((group) =>
      catalog
        .lines(group.id)
        .filter(({ pattern }) => !isGlob(pattern) && mayUse(key, pattern))
        .filter((line) => isUsable(line, now))
        .map((line) => modelView({ id: line.pattern, line }, group, key, now)),
    );
  return [...text.map((one) => modelView(one, one.group, key, now)), ...videos];
}

const mayUse = ({ allowedModels }: Key, name: string): boolean =>
  allowedModels === null || allowedModels.some((pattern) => matchesGlob(pattern, name));

interface Listed {
  readonly id: string;
  readonly line: ModelLine;
}

type NamedRates = Readonly<Record<string, unknown>>;

function modelView({ id, line }: Listed, group: Group, key: Key, now: number): OwnModel {
  const rates = priceAt(line, now)?.rates as NamedRates | undefined;
  const factor = group.multiplierPpm * key.userMultiplierPpm;
  const kind = kindOf(id, line, group.style, rates);
  return {
    id,
    group: group.id,
    kind,
    context: line.context,
    max_output: line.maxOutput,
    prices: rates ? (multiplied(rates, factor) as Record<string, unknown>) : null,
    accepts: kind === 'embeddings' ? [] : acceptsOf(id, line, group),
    sheet: kind === 'video' ? sheetView(sheetOf(group.variant ?? 'EP', line.overrides, id)) : null,
  };
}

/**
 * By the catalog: the style of the group, what the model is priced by, and its capabilities. Never by a guess at its
 * name alone.
 */
function kindOf(id: string, line: ModelLine, style: Group['style'], rates: NamedRates = {}): ModelKind {
  if (style === 'video') return 'video';
  const { imageOutput, imagesEndpoint } = capabilitiesFor(style, { name: id, upstream: line.upstream ?? id, line });
  // A model of the responses style may draw as a tool; its kind is text all the same.
  const draws = imagesEndpoint || (imageOutput && style !== 'responses') || line.overrides.imageOutput === true;
  if ('per_image' in rates || 'image_output' in rates || draws) return 'image';
  // A vector is no output: its model is priced by the input alone.
  return parseNanos(String(rates.output ?? '0')) === 0n && parseNanos(String(rates.input)) !== 0n
    ? 'embeddings'
    : 'text';
}

function sheetView(sheet: VideoSheet): NonNullable<OwnModel['sheet']> {
  const { min, max, values, automatic } = sheet.parameters.duration;
  const words = sheetMembers(sheet).flatMap((name) => {
    const rule = sheet.parameters[name];
    return rule?.kind === 'word' && rule.accepted.length > 1 ? [[name, [...rule.accepted]] as const] : [];
  });
  return {
    resolutions: [...sheet.resolutions],
    ratios: [...sheet.ratios],
    durations: [
      ...(automatic?.isSupported ? [automatic.value] : []),
      ...(values ?? Array.from({ length: max - min + 1 }, (_, n) => min + n)),
    ],
    default_duration: sheet.defaultDuration ?? null,
    words: Object.fromEntries(words),
  };
}

function acceptsOf(id: string, line: ModelLine, { style, variant }: Group): string[] {
  if (style === 'video') {
    const { resolutions, ratios } = sheetOf(variant ?? 'EP', line.overrides, id);
    return [...resolutions, ...ratios];
  }
  const flags = capabilitiesFor(style as Style, { name: id, upstream: line.upstream ?? id, line });
  return [
    ...(flags.imageInput || style !== 'responses' ? ['images'] : []),
    ...(flags.thinking !== 'none' || flags.efforts.length > 0 || flags.thinkingConfig !== 'none' ? ['reasoning'] : []),
    ...(flags.toolChoices.length > 0 ? ['tools'] : []),
    ...(flags.schemaFormat === 'none' ? [] : ['structured output']),
  ];
}

const ONE = 10n ** 12n;

/** Every rate times the factor, rounded up to a billionth of a dollar. */
function multiplied(value: unknown, factor: bigint): unknown {
  if (Array.isArray(value)) return value.map((one) => multiplied(one, factor));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, multiplied(one, factor)]));
  const nanos = typeof value === 'string' ? parseNanos(value) : undefined;
  return nanos === undefined ? value : formatNanos((nanos * factor + ONE - 1n) / ONE);
}

export const MODELS_OPERATIONS = {
  'console.models': ownOperation({
    query: ModelsQuery,
    async handle({ query, userId }, services) {
      const { db, clock, gateway } = services;
      const now = clock.now();
      const id = query.key ?? (await firstKey(db, userId, now))?.id;
      const key = id === undefined ? undefined : await findKeyOfUser(db, userId, id, now);
      if (!key && query.key !== undefined) throw notFound('valid key', query.key, 'key');
      return wholeList(key ? await modelsOf(gateway, key, now) : [], { currency: 'USD' });
    },
  }),
};
