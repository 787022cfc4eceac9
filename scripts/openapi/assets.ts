/**
 * The operations on private assets, asset groups and authorizations of real persons as OpenAPI (V 2, V 4.8,
 * V 4.9, V 4.10).
 */
import type { AssetField } from '../../src/rules/index.ts';
import { json, listExample, ref, type Schema, TEXT } from './schema.ts';

/** The body of a create request, by the table of its fields. */
export const fieldsBody = (fields: Readonly<Record<string, AssetField>>): Schema => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)])),
  required: Object.keys(fields).filter((name) => fields[name]?.isRequired),
  additionalProperties: false,
});

const fieldSchema = ({ about, chars, words, form }: AssetField): Schema => ({
  ...TEXT,
  description: about,
  ...(chars && { minLength: chars.min, maxLength: chars.max }),
  ...(words && { enum: words }),
  ...(form === 'public-url' && { format: 'uri' }),
});

const COMMON = { route_group_id: 'ep', route_group_name: 'EP', created_at: 1_767_225_600, updated_at: 1_767_225_600 };
const GROUP_EXAMPLE = {
  id: 'assetgrp_5Tq8wZsN1vKx7bRdYc2mHp',
  object: 'asset_group',
  name: 'Campaign',
  description: '',
  group_type: 'AIGC',
  status: 'active',
  ...COMMON,
} as const;
const ASSET_EXAMPLE = {
  id: 'asset_9Wd3kXvM6qLs8nRtYb1zGf',
  object: 'asset',
  name: 'Presenter',
  asset_type: 'Image',
  status: 'processing',
  group_id: GROUP_EXAMPLE.id,
  ...COMMON,
} as const;

export const ASSET_SUCCESSES = {
  'assetGroups.create': { 201: json('The group', ref('AssetGroup'), GROUP_EXAMPLE) },
  'assetGroups.list': {
    200: json('A page of groups, newest first', ref('AssetGroupList'), listExample(GROUP_EXAMPLE)),
  },
  'assetGroups.get': { 200: json('The group', ref('AssetGroup'), GROUP_EXAMPLE) },
  'assetGroups.delete': {
    202: json('The group, which is being deleted', ref('AssetGroup'), { ...GROUP_EXAMPLE, status: 'deleting' }),
  },
  'assets.create': {
    202: json(
      'The asset, in status `processing`; `create_unknown` when the provider did not confirm it',
      ref('Asset'),
      ASSET_EXAMPLE,
    ),
  },
  'assets.list': { 200: json('A page of assets, newest first', ref('AssetList'), listExample(ASSET_EXAMPLE)) },
  'assets.get': { 200: json('The asset in its last saved state', ref('Asset'), ASSET_EXAMPLE) },
  'assets.refresh': {
    200: json('The asset in its present state', ref('Asset'), { ...ASSET_EXAMPLE, status: 'active' }),
  },
  'assets.delete': {
    202: json('The asset, which is being deleted', ref('Asset'), { ...ASSET_EXAMPLE, status: 'deleting' }),
  },
} as const;

const SESSION_EXAMPLE = {
  id: 'authsess_3Nf7hQzK9tMv2cRwYb5xLd',
  object: 'asset.authorization_session',
  status: 'pending',
  authorization_url: 'https://provider.example/validate?token=...',
  route_group_id: 'video-a',
  route_group_name: 'Video A',
  expires_at: 1_767_227_400,
  created_at: 1_767_225_600,
  updated_at: 1_767_225_600,
} as const;
const { authorization_url: _, ...WITHOUT_LINK } = SESSION_EXAMPLE;
const COMPLETED = { ...WITHOUT_LINK, status: 'completed', asset_group_id: 'assetgrp_5Tq8wZsN1vKx7bRdYc2mHp' } as const;

export const SESSION_SUCCESSES = {
  'sessions.create': {
    201: json('The session with the link for the browser', ref('AuthorizationSession'), SESSION_EXAMPLE),
  },
  'sessions.get': { 200: json('The session', ref('AuthorizationSession'), COMPLETED) },
} as const;
