/** Accounts at clouds: how other gateways write their region and credential, and how this one does. */
import type { CloudSettings } from '../../rules/index.ts';
import { jsonObjectOf } from './draft.ts';

const CLOUD_KINDS = ['azure', 'bedrock', 'vertex'] as const;
export type CloudKind = (typeof CLOUD_KINDS)[number];
export const isCloud = (kind: string): kind is CloudKind => CLOUD_KINDS.some((cloud) => cloud === kind);

export interface CloudParts {
  /** Undefined for the address that the region has. */
  readonly baseUrl: string | undefined;
  readonly cloud: CloudSettings;
  readonly secret: string | undefined;
}

export const azureAccount = (baseUrl: string | undefined, secret: string, version: string | undefined): CloudParts => ({
  baseUrl,
  secret,
  // The other gateways name the deployment in the path, also where the resource has the newer form.
  cloud: { kind: 'azure-openai', auth: 'api-key', api: 'deployments', ...(version && { api_version: version }) },
});

/** `parts`: access key, secret key and region; or an API key and its region. */
export function bedrockAccount(parts: readonly string[]): CloudParts | undefined {
  const region = parts.at(-1);
  if (region === undefined || parts.length < 2 || parts.length > 3) return undefined;
  const auth = parts.length === 2 ? 'api-key' : 'access-key';
  return {
    baseUrl: `https://bedrock-runtime.${region}.amazonaws.com`,
    secret: parts.slice(0, -1).join(':'),
    cloud: { kind: 'bedrock', auth, region },
  };
}

/** `key`: the key of a service account as JSON. */
export function vertexAccount(key: string, location: string, project?: string): CloudParts | undefined {
  const own = jsonObjectOf(key).project_id;
  const id = project || (typeof own === 'string' ? own : undefined);
  if (id === undefined || !key.trim().startsWith('{')) return undefined;
  const host = location === 'global' ? 'aiplatform' : `${location}-aiplatform`;
  return {
    baseUrl: `https://${host}.googleapis.com`,
    secret: key,
    cloud: { kind: 'vertex', auth: 'service-account', project: id, location },
  };
}
