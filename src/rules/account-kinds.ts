/**
 * Clouds that host models of a provider behind addresses and credentials of their own. `cloud` of an account names its kind, the way it
 * proves who it is, and the settings of both. The form of the console, the checks of the configuration and docs/config.md are derived from
 * these tables; `src/providers/upstream/clouds/` does what they describe.
 */
import type { Feature, Style } from './groups.ts';
import { linesOf, rowsIn, withCode, words } from './notation.ts';

export interface CloudSetting {
  readonly label: string;
  readonly about: string;
  readonly form: RegExp;
  readonly expected: string;
  readonly example: string;
  /** What applies without it. */
  readonly fallback?: string;
}

/** Label, what it is, its form, what is expected, an example in YAML, and what applies without it. */
export const CLOUD_SETTINGS = rowsIn(
  `
api: API | 'v1' sends the deployment as the model of the body, 'deployments' in the path, with 'api_version' | ^(?:v1|deployments)$ | v1 or deployments | deployments | v1
api_version: API version | version of the API; 'v1' needs none | ^(?:\\d{4}-\\d{2}-\\d{2}(?:-preview)?|preview|v1)$ | a version such as 2024-10-21 or preview | "2024-10-21" | 2024-10-21 with 'deployments'
tenant: Tenant | id or domain of the directory | ^[\\w.-]{1,253}$ | an id such as 72f988bf-86f1-41af-91ab-2d7cd011db47 | "72f988bf-86f1-41af-91ab-2d7cd011db47"
client_id: Client id | id of the application, or of a user-assigned managed identity | ^[\\w.-]{1,253}$ | an id such as 72f988bf-86f1-41af-91ab-2d7cd011db47 | "11111111-2222-3333-4444-555555555555"
scope: Scope | what tokens are requested for | ^https://[\\w./-]+/\\.default$ | a scope that ends with /.default | "https://ai.azure.com/.default" | https://cognitiveservices.azure.com/.default
authority: Authority | where tokens of Entra come from, for sovereign clouds | ^https?://[^\\s?#]+$ | an http:// or https:// URL | "https://login.microsoftonline.us" | https://login.microsoftonline.com
project: Project | id of the project | ^[a-z0-9][a-z0-9.:-]{1,62}$ | the id of a project, such as my-project-1 | "my-project-1"
location: Location | region, 'us' or 'eu', or 'global'; the host of 'base_url' belongs to it | ^[a-z]+(?:-[a-z]+\\d+)?$ | a region such as europe-west1, us, eu or global | europe-west1
region: Region | region of Bedrock; the host of 'base_url' belongs to it | ^[a-z]{2}(?:-[a-z]+)+-\\d$ | a region such as eu-central-1 | eu-central-1
role_arn: Role | the role that calls are made as | ^arn:aws[\\w-]*:iam::\\d{12}:role/[\\w+=,.@/-]+$ | the ARN of a role | "arn:aws:iam::123456789012:role/gateway" | the identity itself
guardrail: Guardrail | id or ARN of the guardrail that checks every request and reply | ^(?:[a-z0-9]{1,64}|arn:aws[\\w-]*:bedrock:[a-z0-9-]+:\\d{12}:guardrail/[a-z0-9]+)$ | the id or the ARN of a guardrail | gr0abc1def2g
guardrail_version: Guardrail version | version of the guardrail | ^(?:[1-9]\\d{0,7}|DRAFT)$ | a number, or DRAFT | "1" | DRAFT
guardrail_trace: Guardrail trace | whether Bedrock explains what the guardrail found; the gateway passes it to no client of Converse | ^(?:enabled|disabled|enabled_full)$ | enabled, disabled or enabled_full | enabled | disabled
audience: Audience | the provider of the workload identity pool | ^//iam\\.googleapis\\.com/[\\w./-]+$ | the full name of a provider, beginning with //iam.googleapis.com/ | "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x"
service_account: Service account | e-mail address of the service account that calls are made as | ^[\\w.-]+@[\\w.-]+$ | the e-mail address of a service account | "gateway@my-project-1.iam.gserviceaccount.com" | the identity itself
storage: Bucket | of a video account: where Veo puts its videos, which the identity must be able to read | ^gs://[a-z0-9][\\w.-]{1,61}[a-z0-9](?:/[\\w./-]*)?$ | a bucket and a folder, such as gs://my-bucket/videos | "gs://my-bucket/videos"
storage_url: Storage URL | address of Cloud Storage, for private access | ^https?://[^\\s?#]+$ | an http:// or https:// URL | "https://storage.googleapis.com" | that of the cloud
token_url: Token URL | address of the token service, for private access | ^https?://[^\\s?#]+$ | an http:// or https:// URL | "https://sts.googleapis.com" | that of the cloud
metadata_url: Metadata URL | address of the metadata service of the machine | ^https?://[^\\s?#]+$ | an http:// or https:// URL | "http://169.254.169.254" | that of the cloud
`,
  ([label = '', about = '', form = '', expected = '', example = '', fallback]): CloudSetting => ({
    ...{ label, about, form: new RegExp(form), expected, example },
    ...(fallback !== undefined && { fallback }),
  }),
);
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
export type CloudAdvice = readonly [error: RegExp, advice: string];
/** A line is `error => advice`; the case of an error does not matter. */
const adviceOf = (text: string): readonly CloudAdvice[] =>
  linesOf(text).map((line) => {
    const [error = '', advice = ''] = line.split(' => ');
    return [new RegExp(error, 'i'), withCode(advice)];
  });

/** A line is `name: label | what the secret is | settings it needs | settings it takes | document`, with `-` for none. */
const authsIn = <const S extends string>(text: S) =>
  rowsIn(
    text,
    ([label = '', secret = '-', needs = '-', takes = '-', form]): CloudAuth => ({
      label,
      ...(secret !== '-' && { secret }),
      ...(form === 'document' && { isDocument: true }),
      ...(needs !== '-' && { needs: settingsIn(needs) }),
      ...(takes !== '-' && { takes: settingsIn(takes) }),
    }),
  );
const settingsIn = (cell: string): readonly CloudSettingName[] => words(cell) as readonly CloudSettingName[];

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
    auths: authsIn(`
api-key: Key of the resource | a key of the resource
client-secret: Entra: client secret | the client secret | tenant client_id | scope authority
client-certificate: Entra: client certificate | the certificate and its private key, as PEM | tenant client_id | scope authority | document
workload-identity: Entra: workload identity of Kubernetes | - | tenant client_id | scope authority
managed-identity: Managed identity of the machine | - | - | client_id scope metadata_url
`),
    advice: adviceOf(`
DeploymentNotFound|API deployment for this resource does not exist => the resource has no deployment of this name; name the deployment in 'models' of the account
lacks the required data action|PermissionDenied => the identity lacks a role at the resource; assign "Cognitive Services OpenAI User" to it
audience is incorrect => the token is for another service; check cloud.scope
invalid subscription key => the key belongs to another resource or region; check api_key and base_url
Resource not found|api version|ApiVersionUnsupported => the resource lacks this API or version; check cloud.api, cloud.api_version and base_url
AADSTS7000215|AADSTS7000222 => the client secret is wrong or expired; apply a new api_key
AADSTS700016|AADSTS700038 => the tenant has no such application; check cloud.client_id
AADSTS90002|AADSTS900023 => there is no such tenant; check cloud.tenant
AADSTS500011|AADSTS70011|AADSTS1002012 => the scope does not exist; check cloud.scope
AADSTS700027 => the application does not have this certificate; upload it to the application
AADSTS70021|AADSTS700212|AADSTS700213 => no federated credential of the application fits; check its issuer, subject and audience
Identity not found => the machine has no such managed identity; check cloud.client_id
`),
  },
  vertex: {
    label: 'Vertex AI',
    styles: ['generate-content', 'messages', 'video'],
    baseUrl: 'https://LOCATION-aiplatform.googleapis.com',
    features: { 'generate-content': ['generate', 'count'], messages: ['messages', 'count'], video: ['video'] },
    takes: ['storage', 'storage_url'],
    regionalHost: { host: /^([a-z]+-[a-z]+\d+)-aiplatform\.googleapis\.com$/, setting: 'location' },
    auths: authsIn(`
service-account: Key of a service account | the key of the service account, as JSON | project location | - | document
workload-identity: Workload identity federation | - | project location audience | service_account token_url
metadata: Service account of the machine | - | project location | service_account metadata_url
api-key: API key (express mode) | an API key | - | project location
`),
    advice: adviceOf(String.raw`
Publisher Model .* (?:was )?not found|is not servable in region|not available in => the location lacks this model, or the project has not enabled it; check cloud.location and Model Garden
Permission '?aiplatform\.[\w.]+'? denied => the identity lacks a role in the project; grant it "Vertex AI User"
SERVICE_DISABLED|has not been used in project|it is disabled => the Vertex AI API is not enabled in the project; enable it, or check cloud.project
Permission denied on resource project|CONSUMER_INVALID|Project .* not found => there is no such project, or the identity may not use it; check cloud.project
ACCESS_TOKEN_SCOPE_INSUFFICIENT|insufficient authentication scopes => the identity of the machine lacks the scope cloud-platform; set it for the machine
invalid_grant => Google refuses the signature or the token; check that the key exists and the clock is right
invalid_target|Invalid value for .?audience => there is no such provider; check cloud.audience
iam\.serviceAccounts\.getAccessToken => the identity may not act as cloud.service_account; grant it "Workload Identity User"
API[ _]KEY|API keys are not supported => the API key is wrong, or not for express mode
`),
  },
  bedrock: {
    label: 'Amazon Bedrock',
    styles: ['messages', 'responses', 'generate-content'],
    baseUrl: 'https://bedrock-runtime.REGION.amazonaws.com',
    features: { messages: ['messages', 'count'], responses: ['converse'], 'generate-content': ['converse'] },
    speaksConverse: true,
    takes: ['guardrail', 'guardrail_version', 'guardrail_trace'],
    regionalHost: { host: /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/, setting: 'region' },
    auths: authsIn(`
api-key: Bedrock API key | a Bedrock API key | - | region
access-key: Access key | ACCESS_KEY_ID:SECRET_ACCESS_KEY, with :SESSION_TOKEN for temporary keys | region | role_arn token_url
web-identity: Role of a Kubernetes service account (IRSA) | - | region role_arn | token_url
container: Role of the container (ECS, EKS Pod Identity) | - | region | role_arn token_url
instance: Role of the machine (EC2) | - | region | role_arn token_url metadata_url
`),
    advice: adviceOf(`
scoped to a valid region => the region of the signature is not that of the address; check cloud.region and base_url
model identifier is invalid => the region has no such model; check 'models' of the account and cloud.region
on-demand throughput isn.t supported => the model needs an inference profile, such as eu.amazon.NAME; name it in 'models' of the account
have access to the model => the AWS account has no access to this model; request it in the console of Bedrock
not authorized to perform: bedrock: => the role or user lacks a permission; allow bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream, and bedrock:ApplyGuardrail for a guardrail
guardrail identifier or version.{0,40}does not exist => the region has no such guardrail or version; check cloud.guardrail and cloud.guardrail_version
This action doesn.t support the model => the model cannot be used by Converse; check 'models' of the account
not authorized to perform:? sts: => the identity may not assume cloud.role_arn; check the role and its trust policy
InvalidIdentityToken|No OpenIDConnect provider => the AWS account does not trust this cluster; create its OpenID Connect provider
security token included in the request is (?:invalid|expired) => the access key does not exist
signature we calculated does not match => the secret of the access key is wrong
Signature (?:not yet current|expired) => the clock of this machine is wrong
API Key is valid => the API key is wrong or expired, or belongs to another region
`),
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
  kind && accountKind(kind).advice.find(([known]) => known.test(error))?.[1];
