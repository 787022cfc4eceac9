/** Assets of users, their groups, and the authorization of real persons: as callers see them, and as operators do. */
import { z } from 'zod';
import {
  ASSET_ERRORS,
  ASSET_GROUP_STATUSES,
  ASSET_GROUP_TYPES,
  ASSET_STATUSES,
  ASSET_TYPES,
  type AssetErrorCode,
  SESSION_ERROR,
  SESSION_STATUSES,
} from '../rules/index.ts';
import { moment, named, seconds, someText, text } from './field.ts';

const ROUTE_GROUP = {
  route_group_id: text.describe('id of the service group'),
  route_group_name: text.describe('name of the service group; an operator may change it'),
};
const TIMES = { created_at: seconds, updated_at: seconds };

export const AssetGroup = named('AssetGroup', {
  id: text,
  object: z.literal('asset_group'),
  name: text,
  description: text,
  group_type: z.enum(ASSET_GROUP_TYPES),
  status: z.enum(ASSET_GROUP_STATUSES),
  ...ROUTE_GROUP,
  ...TIMES,
});
export type AssetGroup = z.infer<typeof AssetGroup>;

const assetFields = {
  id: text,
  name: text,
  asset_type: z.enum(ASSET_TYPES),
  status: z.enum(ASSET_STATUSES),
};

export const CallerAsset = named('Asset', {
  ...assetFields,
  object: z.literal('asset'),
  group_id: text.describe('absent for assets of HC models').optional(),
  error: z
    .strictObject({ code: z.enum(Object.keys(ASSET_ERRORS) as AssetErrorCode[]), message: text })
    .describe('why the asset failed or became invalid; absent otherwise')
    .optional(),
  ...ROUTE_GROUP,
  ...TIMES,
});
export type CallerAsset = z.infer<typeof CallerAsset>;

export const OperatorAsset = named('OperatorAsset', {
  ...assetFields,
  user: text,
  group_id: someText,
  route_group_name: text,
  account: text,
  failure: someText,
  created_at: moment,
  updated_at: moment,
});
export type OperatorAsset = z.infer<typeof OperatorAsset>;
/** As an operator or a person of the user reads it. */
export type ReadAsset = Pick<OperatorAsset, keyof typeof assetFields | 'route_group_name'> & {
  readonly [K in 'user' | 'account']?: OperatorAsset[K] | undefined;
} & { readonly created_at: number | string };

export const AuthorizationSession = named('AuthorizationSession', {
  id: text,
  object: z.literal('asset.authorization_session'),
  status: z.enum(SESSION_STATUSES),
  route_group_id: text,
  route_group_name: text,
  expires_at: seconds,
  ...TIMES,
  authorization_url: text.describe('for the browser of the person; absent after the outcome').optional(),
  asset_group_id: text.describe('the group of the person; only when completed').optional(),
  error: z
    .strictObject({ code: z.literal(SESSION_ERROR.code), message: text })
    .describe('only when failed')
    .optional(),
});

export const OwnAuthorization = named('OwnAuthorization', {
  id: text,
  name: text,
  status: z.enum(SESSION_STATUSES),
  asset_group_id: someText,
  route_group_id: text,
  route_group_name: text,
  expires_at: moment,
  created_at: moment,
  updated_at: moment,
});
export type OwnAuthorization = z.infer<typeof OwnAuthorization>;

export const OperatorAuthorization = OwnAuthorization.extend({ user: text, account: text }).meta({
  id: 'OperatorAuthorization',
});
export type OperatorAuthorization = z.infer<typeof OperatorAuthorization>;
