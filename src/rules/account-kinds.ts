/**
 * Clouds that host models of a provider behind addresses and credentials of their own. `cloud` of an account names its kind, the way it
 * proves who it is, and the settings of both. The form of the console, the checks of the configuration and docs/config.md are derived from
 * these tables; `src/upstream/clouds/` does what they describe.
 */
import type { Feature, Style } from './groups.ts';

export interface CloudSetting {
  readonly label: string;
  readonly about: string;
  readonly form: RegExp;
  readonly expected: string;
  readonly example: string;
  /** What applies without it. */
  readonly fallback?: string;
}

const URL_FORM = { form: /^https?:\/\/[^\s?#]+$/, expected: 'an http:// or https:// URL' };
const GUID = {
  form: /^[\w.-]{1,253}$/,
  expected: 'an id such as 72f988bf-86f1-41af-91ab-2d7cd011db47',
};

export const CLOUD_SETTINGS = {
  api: {
    label: 'API',
    about: '`v1` sends the deployment as the model of the body, `deployments` in the path, with `api_version`',
    form: /^(?:v1|deployments)$/,
    expected: 'v1 or deployments',
    example: 'deployments',
    fallback: 'v1',
  },
  api_version: {
    label: 'API version',
    about: 'version of the API; `v1` needs none',
    form: /^(?:\d{4}-\d{2}-\d{2}(?:-preview)?|preview|v1)$/,
    expected: 'a version such as 2024-10-21 or preview',
    example: '"2024-10-21"',
    fallback: '2024-10-21 with `deployments`',
  },
  tenant: {
    label: 'Tenant',
    about: 'id or domain of the directory',
    ...GUID,
    example: '"72f988bf-86f1-41af-91ab-2d7cd011db47"',
  },
  client_id: {
    label: 'Client id',
    about: 'id of the application, or of a user-assigned managed identity',
    ...GUID,
    example: '"11111111-2222-3333-4444-555555555555"',
  },
  scope: {
    label: 'Scope',
    about: 'what tokens are requested for',
    form: /^https:\/\/[\w./-]+\/\.default$/,
    expected: 'a scope that ends with /.default',
    example: '"https://ai.azure.com/.default"',
    fallback: 'https://cognitiveservices.azure.com/.default',
  },
  authority: {
    label: 'Authority',
    about: 'where tokens of Entra come from, for sovereign clouds',
    ...URL_FORM,
    example: '"https://login.microsoftonline.us"',
    fallback: 'https://login.microsoftonline.com',
  },
  metadata_url: {
    label: 'Metadata URL',
    about: 'address of the metadata service of the machine',
    ...URL_FORM,
    example: '"http://169.254.169.254"',
    fallback: 'that of the cloud',
  },
} as const satisfies Record<string, CloudSetting>;
export type CloudSettingName = keyof typeof CLOUD_SETTINGS;
export const CLOUD_SETTING_NAMES = Object.keys(CLOUD_SETTINGS) as CloudSettingName[];

/** A way in which an account proves who it is. */
export interface CloudAuth {
  readonly label: string;
  /** What `api_key` holds. Absent where the machine has the identity. */
  readonly secret?: string;
  /** The secret has several lines. */
  readonly isDocument?: true;
  readonly needs?: readonly CloudSettingName[];
  readonly takes?: readonly CloudSettingName[];
}

/** What an operator can do about an error of the cloud, by its text. */
export interface CloudAdvice {
  readonly error: RegExp;
  readonly advice: string;
}

export interface AccountKindRow {
  readonly label: string;
  readonly styles: readonly Style[];
  /** The form of an account begins with it. */
  readonly baseUrl: string;
  /** What a new account offers by default. */
  readonly features: Partial<Record<Style, readonly Feature[]>>;
  readonly needs?: readonly CloudSettingName[];
  readonly takes?: readonly CloudSettingName[];
  readonly auths: Readonly<Record<string, CloudAuth>>;
  readonly advice: readonly CloudAdvice[];
}

const ENTRA = ['scope', 'authority'] as const;

export const ACCOUNT_KINDS = {
  'azure-openai': {
    label: 'Azure OpenAI',
    styles: ['responses'],
    baseUrl: 'https://RESOURCE.openai.azure.com',
    features: { responses: ['responses', 'chat', 'images', 'embeddings'] },
    takes: ['api', 'api_version'],
    auths: {
      'api-key': { label: 'Key of the resource', secret: 'a key of the resource' },
      'client-secret': {
        label: 'Entra: client secret',
        secret: 'the client secret',
        needs: ['tenant', 'client_id'],
        takes: ENTRA,
      },
      'client-certificate': {
        label: 'Entra: client certificate',
        secret: 'the certificate and its private key, as PEM',
        isDocument: true,
        needs: ['tenant', 'client_id'],
        takes: ENTRA,
      },
      'workload-identity': {
        label: 'Entra: workload identity of Kubernetes',
        needs: ['tenant', 'client_id'],
        takes: ENTRA,
      },
      'managed-identity': { label: 'Managed identity of the machine', takes: ['client_id', 'scope', 'metadata_url'] },
    },
    advice: [
      {
        error: /DeploymentNotFound|API deployment for this resource does not exist/i,
        advice: 'the resource has no deployment of this name; name the deployment in `models` of the account',
      },
      {
        error: /lacks the required data action|PermissionDenied/i,
        advice: 'the identity lacks a role at the resource; assign "Cognitive Services OpenAI User" to it',
      },
      { error: /audience is incorrect/i, advice: 'the token is for another service; check cloud.scope' },
      {
        error: /invalid subscription key/i,
        advice: 'the key belongs to another resource or region; check api_key and base_url',
      },
      {
        error: /Resource not found|api version|ApiVersionUnsupported/i,
        advice: 'the resource lacks this API or version; check cloud.api, cloud.api_version and base_url',
      },
      { error: /AADSTS7000215|AADSTS7000222/, advice: 'the client secret is wrong or expired; apply a new api_key' },
      { error: /AADSTS700016|AADSTS700038/, advice: 'the tenant has no such application; check cloud.client_id' },
      { error: /AADSTS90002|AADSTS900023/, advice: 'there is no such tenant; check cloud.tenant' },
      { error: /AADSTS500011|AADSTS70011|AADSTS1002012/, advice: 'the scope does not exist; check cloud.scope' },
      { error: /AADSTS700027/, advice: 'the application does not have this certificate; upload it to the application' },
      {
        error: /AADSTS70021|AADSTS700212|AADSTS700213/,
        advice: 'no federated credential of the application fits; check its issuer, subject and audience',
      },
      { error: /Identity not found/i, advice: 'the machine has no such managed identity; check cloud.client_id' },
    ],
  },
} as const satisfies Record<string, AccountKindRow>;

export type AccountKind = keyof typeof ACCOUNT_KINDS;
export const ACCOUNT_KIND_NAMES = Object.keys(ACCOUNT_KINDS) as AccountKind[];
export const accountKind = (kind: AccountKind): AccountKindRow => ACCOUNT_KINDS[kind];

/** All ways of all kinds. */
export const CLOUD_AUTH_NAMES = [
  ...new Set(ACCOUNT_KIND_NAMES.flatMap((kind) => Object.keys(accountKind(kind).auths))),
];

/** `cloud` of an account. */
export type CloudSettings = { readonly kind: AccountKind; readonly auth: string } & {
  readonly [name in CloudSettingName]?: string | undefined;
};

export const cloudAuth = ({ kind, auth }: Pick<CloudSettings, 'kind' | 'auth'>): CloudAuth | undefined =>
  accountKind(kind).auths[auth];

/** The settings that a kind has with a way to sign in. */
export const settingsOfCloud = (
  kind: AccountKind,
  auth: string,
): { readonly needed: readonly CloudSettingName[]; readonly possible: readonly CloudSettingName[] } => {
  const row = accountKind(kind);
  const way = row.auths[auth];
  const needed = [...(row.needs ?? []), ...(way?.needs ?? [])];
  return { needed, possible: [...needed, ...(row.takes ?? []), ...(way?.takes ?? [])] };
};

/** What an operator can do about an error of an account, if that is known. */
export const cloudAdvice = (kind: AccountKind | undefined, error: string): string | undefined =>
  kind && accountKind(kind).advice.find((row) => row.error.test(error))?.advice;
