/**
 * Clouds that host models of a provider behind addresses and credentials of their own. `cloud` of an account names its
 * kind, the way it proves who it is, and the settings of both. The form of the console, the checks of the configuration
 * and docs/config.md are derived from these tables; `src/providers/upstream/clouds/` does what they describe.
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
    form: /^[\w.-]{1,253}$/,
    expected: 'an id such as 72f988bf-86f1-41af-91ab-2d7cd011db47',
    example: '"72f988bf-86f1-41af-91ab-2d7cd011db47"',
  },
  client_id: {
    label: 'Client id',
    about: 'id of the application, or of a user-assigned managed identity',
    form: /^[\w.-]{1,253}$/,
    expected: 'an id such as 72f988bf-86f1-41af-91ab-2d7cd011db47',
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
    form: /^https?:\/\/[^\s?#]+$/,
    expected: 'an http:// or https:// URL',
    example: '"https://login.microsoftonline.us"',
    fallback: 'https://login.microsoftonline.com',
  },
  project: {
    label: 'Project',
    about: 'id of the project',
    form: /^[a-z0-9][a-z0-9.:-]{1,62}$/,
    expected: 'the id of a project, such as my-project-1',
    example: '"my-project-1"',
  },
  location: {
    label: 'Location',
    about: 'region, `us` or `eu`, or `global`; the host of `base_url` belongs to it',
    form: /^[a-z]+(?:-[a-z]+\d+)?$/,
    expected: 'a region such as europe-west1, us, eu or global',
    example: 'europe-west1',
  },
  region: {
    label: 'Region',
    about: 'region of Bedrock; the host of `base_url` belongs to it',
    form: /^[a-z]{2}(?:-[a-z]+)+-\d$/,
    expected: 'a region such as eu-central-1',
    example: 'eu-central-1',
  },
  role_arn: {
    label: 'Role',
    about: 'the role that calls are made as',
    form: /^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/,
    expected: 'the ARN of a role',
    example: '"arn:aws:iam::123456789012:role/gateway"',
    fallback: 'the identity itself',
  },
  guardrail: {
    label: 'Guardrail',
    about: 'id or ARN of the guardrail that checks every request and reply',
    form: /^(?:[a-z0-9]{1,64}|arn:aws[\w-]*:bedrock:[a-z0-9-]+:\d{12}:guardrail\/[a-z0-9]+)$/,
    expected: 'the id or the ARN of a guardrail',
    example: 'gr0abc1def2g',
  },
  guardrail_version: {
    label: 'Guardrail version',
    about: 'version of the guardrail',
    form: /^(?:[1-9]\d{0,7}|DRAFT)$/,
    expected: 'a number, or DRAFT',
    example: '"1"',
    fallback: 'DRAFT',
  },
  guardrail_trace: {
    label: 'Guardrail trace',
    about: 'whether Bedrock explains what the guardrail found; the gateway passes it to no client of Converse',
    form: /^(?:enabled|disabled|enabled_full)$/,
    expected: 'enabled, disabled or enabled_full',
    example: 'enabled',
    fallback: 'disabled',
  },
  audience: {
    label: 'Audience',
    about: 'the provider of the workload identity pool',
    form: /^\/\/iam\.googleapis\.com\/[\w./-]+$/,
    expected: 'the full name of a provider, beginning with //iam.googleapis.com/',
    example: '"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x"',
  },
  service_account: {
    label: 'Service account',
    about: 'e-mail address of the service account that calls are made as',
    form: /^[\w.-]+@[\w.-]+$/,
    expected: 'the e-mail address of a service account',
    example: '"gateway@my-project-1.iam.gserviceaccount.com"',
    fallback: 'the identity itself',
  },
  storage: {
    label: 'Bucket',
    about: 'of a video account: where Veo puts its videos, which the identity must be able to read',
    form: /^gs:\/\/[a-z0-9][\w.-]{1,61}[a-z0-9](?:\/[\w./-]*)?$/,
    expected: 'a bucket and a folder, such as gs://my-bucket/videos',
    example: '"gs://my-bucket/videos"',
  },
  storage_url: {
    label: 'Storage URL',
    about: 'address of Cloud Storage, for private access',
    form: /^https?:\/\/[^\s?#]+$/,
    expected: 'an http:// or https:// URL',
    example: '"https://storage.googleapis.com"',
    fallback: 'that of the cloud',
  },
  token_url: {
    label: 'Token URL',
    about: 'address of the token service, for private access',
    form: /^https?:\/\/[^\s?#]+$/,
    expected: 'an http:// or https:// URL',
    example: '"https://sts.googleapis.com"',
    fallback: 'that of the cloud',
  },
  metadata_url: {
    label: 'Metadata URL',
    about: 'address of the metadata service of the machine',
    form: /^https?:\/\/[^\s?#]+$/,
    expected: 'an http:// or https:// URL',
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

/** What an operator can do about an error of the cloud. */
export interface CloudAdvice {
  /** A part of its text. */
  readonly error: RegExp;
  readonly advice: string;
}

export interface AccountKindRow {
  readonly label: string;
  readonly styles: readonly (Style | 'video')[];
  /** The form of an account begins with it. */
  readonly baseUrl: string;
  /** What a new account offers by default. */
  readonly features: Partial<Record<Style | 'video', readonly Feature[]>>;
  /** Serves every style by Converse, and no style but the first by anything else. */
  readonly speaksConverse?: true;
  /** Hosts that name a region, which must be that of a setting. */
  readonly regionalHost?: { readonly host: RegExp; readonly setting: CloudSettingName };
  readonly needs?: readonly CloudSettingName[];
  readonly takes?: readonly CloudSettingName[];
  readonly auths: Readonly<Record<string, CloudAuth>>;
  readonly advice: readonly CloudAdvice[];
}

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
        takes: ['scope', 'authority'],
      },
      'client-certificate': {
        label: 'Entra: client certificate',
        secret: 'the certificate and its private key, as PEM',
        isDocument: true,
        needs: ['tenant', 'client_id'],
        takes: ['scope', 'authority'],
      },
      'workload-identity': {
        label: 'Entra: workload identity of Kubernetes',
        needs: ['tenant', 'client_id'],
        takes: ['scope', 'authority'],
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
      { error: /AADSTS7000215|AADSTS7000222/i, advice: 'the client secret is wrong or expired; apply a new api_key' },
      { error: /AADSTS700016|AADSTS700038/i, advice: 'the tenant has no such application; check cloud.client_id' },
      { error: /AADSTS90002|AADSTS900023/i, advice: 'there is no such tenant; check cloud.tenant' },
      { error: /AADSTS500011|AADSTS70011|AADSTS1002012/i, advice: 'the scope does not exist; check cloud.scope' },
      {
        error: /AADSTS700027/i,
        advice: 'the application does not have this certificate; upload it to the application',
      },
      {
        error: /AADSTS70021|AADSTS700212|AADSTS700213/i,
        advice: 'no federated credential of the application fits; check its issuer, subject and audience',
      },
      { error: /Identity not found/i, advice: 'the machine has no such managed identity; check cloud.client_id' },
    ],
  },
  vertex: {
    label: 'Vertex AI',
    styles: ['generate-content', 'messages', 'video'],
    baseUrl: 'https://LOCATION-aiplatform.googleapis.com',
    features: { 'generate-content': ['generate', 'count'], messages: ['messages', 'count'], video: ['video'] },
    takes: ['storage', 'storage_url'],
    regionalHost: { host: /^([a-z]+-[a-z]+\d+)-aiplatform\.googleapis\.com$/, setting: 'location' },
    auths: {
      'service-account': {
        label: 'Key of a service account',
        secret: 'the key of the service account, as JSON',
        isDocument: true,
        needs: ['project', 'location'],
      },
      'workload-identity': {
        label: 'Workload identity federation',
        needs: ['project', 'location', 'audience'],
        takes: ['service_account', 'token_url'],
      },
      metadata: {
        label: 'Service account of the machine',
        needs: ['project', 'location'],
        takes: ['service_account', 'metadata_url'],
      },
      'api-key': { label: 'API key (express mode)', secret: 'an API key', takes: ['project', 'location'] },
    },
    advice: [
      {
        error: /Publisher Model .* (?:was )?not found|is not servable in region|not available in/i,
        advice:
          'the location lacks this model, or the project has not enabled it; check cloud.location and Model Garden',
      },
      {
        error: /Permission '?aiplatform\.[\w.]+'? denied/i,
        advice: 'the identity lacks a role in the project; grant it "Vertex AI User"',
      },
      {
        error: /SERVICE_DISABLED|has not been used in project|it is disabled/i,
        advice: 'the Vertex AI API is not enabled in the project; enable it, or check cloud.project',
      },
      {
        error: /Permission denied on resource project|CONSUMER_INVALID|Project .* not found/i,
        advice: 'there is no such project, or the identity may not use it; check cloud.project',
      },
      {
        error: /ACCESS_TOKEN_SCOPE_INSUFFICIENT|insufficient authentication scopes/i,
        advice: 'the identity of the machine lacks the scope cloud-platform; set it for the machine',
      },
      {
        error: /invalid_grant/i,
        advice: 'Google refuses the signature or the token; check that the key exists and the clock is right',
      },
      {
        error: /invalid_target|Invalid value for .?audience/i,
        advice: 'there is no such provider; check cloud.audience',
      },
      {
        error: /iam\.serviceAccounts\.getAccessToken/i,
        advice: 'the identity may not act as cloud.service_account; grant it "Workload Identity User"',
      },
      { error: /API[ _]KEY|API keys are not supported/i, advice: 'the API key is wrong, or not for express mode' },
    ],
  },
  bedrock: {
    label: 'Amazon Bedrock',
    styles: ['messages', 'responses', 'generate-content'],
    baseUrl: 'https://bedrock-runtime.REGION.amazonaws.com',
    features: { messages: ['messages', 'count'], responses: ['converse'], 'generate-content': ['converse'] },
    speaksConverse: true,
    takes: ['guardrail', 'guardrail_version', 'guardrail_trace'],
    regionalHost: { host: /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/, setting: 'region' },
    auths: {
      'api-key': { label: 'Bedrock API key', secret: 'a Bedrock API key', takes: ['region'] },
      'access-key': {
        label: 'Access key',
        secret: 'ACCESS_KEY_ID:SECRET_ACCESS_KEY, with :SESSION_TOKEN for temporary keys',
        needs: ['region'],
        takes: ['role_arn', 'token_url'],
      },
      'web-identity': {
        label: 'Role of a Kubernetes service account (IRSA)',
        needs: ['region', 'role_arn'],
        takes: ['token_url'],
      },
      container: {
        label: 'Role of the container (ECS, EKS Pod Identity)',
        needs: ['region'],
        takes: ['role_arn', 'token_url'],
      },
      instance: {
        label: 'Role of the machine (EC2)',
        needs: ['region'],
        takes: ['role_arn', 'token_url', 'metadata_url'],
      },
    },
    advice: [
      {
        error: /scoped to a valid region/i,
        advice: 'the region of the signature is not that of the address; check cloud.region and base_url',
      },
      {
        error: /model identifier is invalid/i,
        advice: 'the region has no such model; check `models` of the account and cloud.region',
      },
      {
        error: /on-demand throughput isn.t supported/i,
        advice: 'the model needs an inference profile, such as eu.amazon.NAME; name it in `models` of the account',
      },
      {
        error: /have access to the model/i,
        advice: 'the AWS account has no access to this model; request it in the console of Bedrock',
      },
      {
        error: /not authorized to perform: bedrock:/i,
        advice:
          'the role or user lacks a permission; allow bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream, and bedrock:ApplyGuardrail for a guardrail',
      },
      {
        error: /guardrail identifier or version.{0,40}does not exist/i,
        advice: 'the region has no such guardrail or version; check cloud.guardrail and cloud.guardrail_version',
      },
      {
        error: /This action doesn.t support the model/i,
        advice: 'the model cannot be used by Converse; check `models` of the account',
      },
      {
        error: /not authorized to perform:? sts:/i,
        advice: 'the identity may not assume cloud.role_arn; check the role and its trust policy',
      },
      {
        error: /InvalidIdentityToken|No OpenIDConnect provider/i,
        advice: 'the AWS account does not trust this cluster; create its OpenID Connect provider',
      },
      {
        error: /security token included in the request is (?:invalid|expired)/i,
        advice: 'the access key does not exist',
      },
      { error: /signature we calculated does not match/i, advice: 'the secret of the access key is wrong' },
      { error: /Signature (?:not yet current|expired)/i, advice: 'the clock of this machine is wrong' },
      { error: /API Key is valid/i, advice: 'the API key is wrong or expired, or belongs to another region' },
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

/** Whether an account may offer the feature, as far as its kind decides that. */
export function kindOffers(kind: AccountKind | undefined, style: string, feature: string): boolean {
  const row = kind && accountKind(kind);
  if (feature === 'converse') return row?.speaksConverse === true;
  return row?.speaksConverse !== true || style === row.styles[0];
}

/** What an operator can do about an error of an account, if that is known. */
export const cloudAdvice = (kind: AccountKind | undefined, error: string): string | undefined =>
  kind && accountKind(kind).advice.find((row) => row.error.test(error))?.advice;
