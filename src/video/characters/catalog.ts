/**
 * The catalog of public characters (V 4.11): published by an administrator,
 * for the models and service group of each entry.
 */
import { sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import type { Catalog, Group } from '../../catalog/index.ts';
import { failAt, matchesGlob } from '../../core/index.ts';
import { type Db, firstRow, type Row } from '../../platform/db/index.ts';
import { reachableGroups } from '../service-groups.ts';

export type CharacterRow = Omit<Row<'characters'>, 'preview'> & { readonly has_preview: boolean };

export interface CatalogServices {
  readonly db: Db;
  readonly catalog: () => Catalog;
}

export interface CharacterFilter {
  readonly model: string;
  readonly q?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly gender?: string | undefined;
  readonly age_group?: string | undefined;
  readonly nationality?: string | undefined;
}

export interface CharacterPage {
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Any other id cannot exist. */
export const isCharacterId = (id: string): boolean => /^char_[A-Za-z0-9]{1,64}$/.test(id);

const COLUMNS =
  sql.raw(`id, public_id, group_id, models, upstream_asset, name, tags, gender, age_group, nationality, preview_url,
  position, created_at, published, licence, preview_type, preview is not null as has_preview`);

/** A published character in a group that the key reaches; with a model, only if it is for that model. */
export async function findCharacter(services: CatalogServices, key: Key, publicId: string, model?: string) {
  const { db, catalog } = services;
  if (!isCharacterId(publicId)) return undefined;
  const groups = reachableGroups(catalog(), key);
  const { rows } = await sql<CharacterRow>`
    select ${COLUMNS} from characters
    where public_id = ${publicId} and published and group_id = any(${groups.map(({ id }) => id)})`.execute(db);
  return rows.find((character) => model === undefined || isFor(character, model));
}

/**
 * One page of the characters for a model; one row more than the limit says that there are further ones.
 * A model without any published character has no catalog (V 4.11 r3).
 */
export async function findCharacters(
  { db, catalog }: CatalogServices,
  key: Key,
  filter: CharacterFilter,
  { after, limit }: CharacterPage,
): Promise<readonly CharacterRow[]> {
  const { model } = filter;
  const group = reachableGroups(catalog(), key).find(({ id }) => catalog().resolve(id, model) !== undefined);
  const all = group ? await charactersOf(db, group, model) : [];
  if (all.length === 0)
    throw failAt('public_catalog_not_supported', 'model', `"${model.slice(0, 100)}" has no public characters.`);
  const matching = all.filter((character) => matches(character, filter));
  const start = after === undefined ? 0 : matching.findIndex(({ public_id }) => public_id === after) + 1;
  if (after !== undefined && start === 0)
    throw failAt('invalid_request', 'after', 'expected the last_id of the previous page.');
  return matching.slice(start, start + limit + 1);
}

/** The catalog is curated by hand; more entries than this are not offered. */
const MAX_CHARACTERS = 10_000;

async function charactersOf(db: Db, { id }: Group, model: string): Promise<readonly CharacterRow[]> {
  const { rows } = await sql<CharacterRow>`
    select ${COLUMNS} from characters where group_id = ${id} and published
    order by position, public_id limit ${MAX_CHARACTERS}`.execute(db);
  return rows.filter((character) => isFor(character, model));
}

const isFor = ({ models }: CharacterRow, model: string): boolean =>
  models.some((pattern) => matchesGlob(pattern, model));

/** `tags` must all match; the texts are compared without regard to case. */
function matches(character: CharacterRow, { q, tags = [], gender, age_group, nationality }: CharacterFilter): boolean {
  const isSame = (value: string, wanted: string | undefined): boolean =>
    wanted === undefined || value.toLowerCase() === wanted.toLowerCase();
  return (
    (q === undefined || character.name.toLowerCase().includes(q.toLowerCase())) &&
    tags.every((tag) => character.tags.some((own) => isSame(own, tag))) &&
    isSame(character.gender, gender) &&
    isSame(character.age_group, age_group) &&
    isSame(character.nationality, nationality)
  );
}

/** The public character object (V 2). */
export const characterView = (character: CharacterRow, catalog: Catalog, publicUrl: string) => ({
  id: character.public_id,
  object: 'public_character',
  name: character.name,
  preview_url: character.has_preview
    ? `${publicUrl}/public/characters/${character.public_id}/preview`
    : character.preview_url,
  tags: character.tags,
  route_group_id: character.group_id,
  route_group_name: catalog.group(character.group_id)?.name ?? '',
  reference: `asset://${character.public_id}`,
});

/** The picture of a published character; it needs no key. */
export async function findPreview(db: Db, publicId: string) {
  if (!isCharacterId(publicId)) return undefined;
  const row = await firstRow(db)<Pick<Row<'characters'>, 'preview' | 'preview_type'>>`
    select preview, preview_type from characters where public_id = ${publicId} and published`;
  return row?.preview && row.preview_type !== null ? { bytes: row.preview, type: row.preview_type } : undefined;
}
