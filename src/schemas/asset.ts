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
  ...f.members('name:text description:text'),
  group_type: z.enum(rules.ASSET_GROUP_TYPES),
  status: z.enum(rules.ASSET_GROUP_STATUSES),
  ...ROUTE_GROUP,
  ...TIMES,
});
export type AssetGroup = z.infer<typeof AssetGroup>;

const assetFields = {
  ...f.members('id:text name:text'),
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
  ...f.members('user:text group_id:text|null route_group_name:text account:text failure:text|null created_at:moment'),
  ...f.members('updated_at:moment'),
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
  ...f.members('route_group_id:text route_group_name:text expires_at:seconds'),
  ...TIMES,
  authorization_url: f.text.describe('for the browser of the person; absent after the outcome').optional(),
  asset_group_id: f.text.describe('the group of the person; only when completed').optional(),
  error: z
    .strictObject({ code: z.literal(rules.SESSION_ERROR.code), message: f.text })
    .describe('only when failed')
    .optional(),
});

export const OwnAuthorization = f.named('OwnAuthorization', {
  ...f.members('id:text name:text'),
  status: z.enum(rules.SESSION_STATUSES),
  ...f.members('asset_group_id:text|null route_group_id:text route_group_name:text expires_at:moment'),
  ...f.members('created_at:moment updated_at:moment'),
});
export type OwnAuthorization = z.infer<typeof OwnAuthorization>;

export const OperatorAuthorization = OwnAuthorization.extend({ user: f.text, account: f.text }).meta({
  id: 'OperatorAuthorization',
});
export type OperatorAuthorization = z.infer<typeof OperatorAuthorization>;
