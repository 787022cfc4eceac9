/** Fields that requests of the two OpenAI dialects share. */
import type { HubMeta, HubTool, JsonObject } from '../hub/types.ts';
import * as wire from './read.ts';
import { CLIENT_TIER_NAMES, CLIENT_TIERS } from './service-tiers.ts';

export function readMeta(body: JsonObject): HubMeta {
  const tier = wire.optional(body, 'service_tier', wire.oneOf(CLIENT_TIER_NAMES));
  const safetyId = wire.optional(body, 'safety_identifier', wire.needString);
  const user = wire.optional(body, 'user', wire.needString);
  return wire.compact({
    userId: safetyId ?? user,
    isLegacyUser: safetyId === undefined && user !== undefined ? true : undefined,
    metadata: wire.optional(body, 'metadata', wire.readStringMap),
    serviceTier: tier && CLIENT_TIERS[tier],
  });
}

const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

export const readFunction = (body: JsonObject, path: string): HubTool & { readonly kind: 'function' } =>
  wire.compact({
    kind: 'function' as const,
    name: readName(body, path),
    description: wire.optional(body, 'description', wire.needString, path),
    schema: wire.optional(body, 'parameters', wire.needObject, path) ?? NO_PARAMETERS,
    strict: wire.optional(body, 'strict', wire.readBoolean, path),
  });

export const readName = (body: JsonObject, path: string): string =>
  wire.needString(body.name, `${path}.name`) || wire.wrongValue(`${path}.name`, 'must not be empty.');
