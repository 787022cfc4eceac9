/** Requests about assets and asset groups, and their rows in the database. */
import { sql } from 'kysely';
import type { VideoEntry } from '../../sim/video/journal.ts';
import {
  type ApiRequest,
  type ApiResponse,
  callVideo,
  type TestVariant,
  VIDEO_MODELS,
  type VideoFixture,
} from './video.ts';

export const GROUPS_PATH = '/v1/asset-groups';
export const ASSETS_PATH = '/v1/assets';
export const SOURCE_URL = 'https://example.com/media/zebra.png';

export type Table = 'assets' | 'asset_groups';

export class AssetCaller {
  readonly fixture: VideoFixture;
  readonly key: string | undefined;

  constructor(fixture: VideoFixture, key?: string) {
    this.fixture = fixture;
    this.key = key;
  }

  call(path: string, request: ApiRequest = {}): Promise<ApiResponse> {
    return callVideo(this.fixture.gateway.url, path, { key: this.key, ...request });
  }

  /** Creates a group; of variant A unless the body names a model. */
  createGroup(body: object = {}, idempotencyKey?: string): Promise<ApiResponse> {
    return this.call(GROUPS_PATH, {
      body: { name: 'Campaign', model: VIDEO_MODELS.A, ...body },
      ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
    });
  }

  async groupId(variant: Exclude<TestVariant, 'HC'> = 'A'): Promise<string> {
    const { status, body } = await this.createGroup({ model: VIDEO_MODELS[variant] });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return String(body.id);
  }

  createAsset(body: object = {}, idempotencyKey?: string): Promise<ApiResponse> {
    return this.call(ASSETS_PATH, {
      body: { url: SOURCE_URL, asset_type: 'Image', ...body },
      ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
    });
  }

  /** Creates an asset in a new group, or an HC asset, and returns its id. */
  async assetId(variant: TestVariant = 'A', body: object = {}): Promise<string> {
    const target = variant === 'HC' ? { model: VIDEO_MODELS.HC } : { group_id: await this.groupId(variant) };
    const { status, body: asset } = await this.createAsset({ ...target, ...body });
    if (status !== 202) throw new Error(JSON.stringify(asset));
    return String(asset.id);
  }

  get = (path: string, id: unknown) => this.call(`${path}/${String(id)}`);
  delete = (path: string, id: unknown) => this.call(`${path}/${String(id)}`, { method: 'DELETE' });

  /** Asks the provider even if it was asked less than two seconds ago. */
  async refresh(id: unknown): Promise<ApiResponse> {
    await setRow(this.fixture, 'assets', id, { refreshed_at: null });
    return this.refreshSoon(id);
  }

  refreshSoon = (id: unknown) => this.call(`${ASSETS_PATH}/${String(id)}/refresh`, { method: 'POST' });

  /** Makes the asset active at the provider and for its owner. */
  async activate(id: unknown): Promise<void> {
    const { upstream_id } = await rowOf(this.fixture, 'assets', id);
    this.fixture.sim.video.assets.activate(String(upstream_id));
    const { body } = await this.refresh(id);
    if (body.status !== 'active') throw new Error(JSON.stringify(body));
  }
}

export const rowOf = async ({ gateway }: VideoFixture, table: Table, id: unknown): Promise<Record<string, unknown>> => {
  const { rows } = await sql<Record<string, unknown>>`
    select * from ${sql.table(table)} where id = ${String(id)}`.execute(gateway.context.database.db);
  if (!rows[0]) throw new Error(`no row ${String(id)}`);
  return rows[0];
};

export async function setRow(
  { gateway }: VideoFixture,
  table: Table,
  id: unknown,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  const columns = Object.entries(values).map(([name, value]) => sql`${sql.ref(name)} = ${value}`);
  await sql`update ${sql.table(table)} set ${sql.join(columns)} where id = ${String(id)}`.execute(
    gateway.context.database.db,
  );
}

/** Requests to the provider's asset library so far, of one action or of all. */
export const actions = ({ sim }: VideoFixture, action?: string): VideoEntry[] =>
  sim.video.journal.requests.filter(
    (entry) => entry.operation === 'control' && (action === undefined || entry.action === action),
  );
