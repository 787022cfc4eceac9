/** Assets of users, their groups, and the authorization of real persons: as callers see them, and as operators do. */
import { z } from 'zod';
import * as rules from '../rules/index.ts';
import * as f from './field.ts';

const ROUTE_GROUP = {
  route_group_id: f.text.describe('id of the service group'),
  route_group_name: f.text.describe('name of the service group; an operator may change it'),
};
const TIMES = { created_at: f.seconds, updated_at: f.seconds };

export const AssetGroup = f.named('AssetGroup', {
  id: f.text,
  object: z.literal('asset_group'),
  name: f.text,
  description: f.text,
  group_type: z.enum(rules.ASSET_GROUP_TYPES),
  status: z.enum(rules.ASSET_GROUP_STATUSES),
  ...ROUTE_GROUP,
  ...TIMES,
});
export type AssetGroup = z.infer<typeof AssetGroup>;

const assetFields = {
  id: f.text,
  name: f.text,
  asset_type: z.enum(rules.ASSET_TYPES),
  status: z.enum(rules.ASSET_STATUSES),
};

export const CallerAsset = f.named('Asset', {
  ...assetFields,
  object: z.literal('asset'),
  group_id: f.text.describe('absent for assets of HC models').optional(),
  error: z
    .strictObject({ code: z.enum(Object.keys(rules.ASSET_ERRORS) as rules.AssetErrorCode[]), message: f.text })
    .describe('why the asset failed or became invalid; absent otherwise')
    .optional(),
  ...ROUTE_GROUP,
  ...TIMES,
});
export type CallerAsset = z.infer<typeof CallerAsset>;

export const OperatorAsset = f.named('OperatorAsset', {
  ...assetFields,
  user: f.text,
  group_id: f.someText,
  route_group_name: f.text,
  account: f.text,
  failure: f.someText,
  created_at: f.moment,
  updated_at: f.moment,
});
export type OperatorAsset = z.infer<typeof OperatorAsset>;
/** As an operator or a person of the user reads it. */
export type ReadAsset = Pick<OperatorAsset, keyof typeof assetFields | 'route_group_name'> & {
  readonly [K in 'user' | 'account']?: OperatorAsset[K] | undefined;
} & { readonly created_at: number | string };

export const AuthorizationSession = f.named('AuthorizationSession', {
  id: f.text,
  object: z.literal('asset.authorization_session'),
  status: z.enum(rules.SESSION_STATUSES),
  route_group_id: f.text,
  route_group_name: f.text,
  expires_at: f.seconds,
  ...TIMES,
  authorization_url: f.text.describe('for the browser of the person; absent after the outcome').optional(),
  asset_group_id: f.text.describe('the group of the person; only when completed').optional(),
  error: z
    .strictObject({ code: z.literal(rules.SESSION_ERROR.code), message: f.text })
    .describe('only when failed')
    .optional(),
});

export const OwnAuthorization = f.named('OwnAuthorization', {
  id: f.text,
  name: f.text,
  status: z.enum(rules.SESSION_STATUSES),
  asset_group_id: f.someText,
  route_group_id: f.text,
  route_group_name: f.text,
  expires_at: f.moment,
  created_at: f.moment,
  updated_at: f.moment,
});
export type OwnAuthorization = z.infer<typeof OwnAuthorization>;

export const OperatorAuthorization = OwnAuthorization.extend({ user: f.text, account: f.text }).meta({
  id: 'OperatorAuthorization',
});
export type OperatorAuthorization = z.infer<typeof OperatorAuthorization>;
