/**
 * What other gateways call the services of their accounts, and the account each becomes (`src/program/import`).
 * What has no row is reported as lost.
 */
import type { Feature, Style } from './groups.ts';

interface ImportedKindRow {
  readonly style: Style;
  /** Where the service is, unless the account says so. */
  readonly baseUrl?: string;
  /** What the other gateway adds to an address, and an account here has in it. */
  readonly path?: string;
  /** Of servers that speak a dialect of the style only in part; absent for all of it. */
  readonly features?: readonly Feature[];
  /** Its name in the public price list. */
  readonly list?: string;
}

const IMPORTED_KINDS = {
  openai: { style: 'responses', baseUrl: 'https://api.openai.com', path: '/v1', list: 'openai' },
  relay: { style: 'responses', path: '/v1', features: ['chat', 'images', 'embeddings'], list: 'openai' },
  compatible: { style: 'responses', features: ['chat', 'embeddings'] },
  'gemini-openai': {
    style: 'responses',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    features: ['chat', 'embeddings'],
    list: 'google',
  },
  anthropic: { style: 'messages', baseUrl: 'https://api.anthropic.com', list: 'anthropic' },
  gemini: { style: 'generate-content', baseUrl: 'https://generativelanguage.googleapis.com', list: 'google' },
  azure: { style: 'responses', list: 'azure' },
  bedrock: { style: 'messages', list: 'aws' },
  vertex: { style: 'generate-content', list: 'google' },
  ollama: { style: 'responses', baseUrl: 'http://localhost:11434', path: '/v1', features: ['chat', 'embeddings'] },
  vllm: { style: 'responses', path: '/v1', features: ['chat', 'embeddings'] },
  openrouter: {
    style: 'responses',
    baseUrl: 'https://openrouter.ai/api',
    path: '/v1',
    features: ['chat'],
    list: 'openrouter',
  },
  moonshot: {
    style: 'responses',
    baseUrl: 'https://api.moonshot.cn',
    path: '/v1',
    features: ['chat'],
    list: 'moonshotai',
  },
  deepseek: {
    style: 'responses',
    baseUrl: 'https://api.deepseek.com',
    path: '/v1',
    features: ['chat'],
    list: 'deepseek',
  },
  mistral: {
    style: 'responses',
    baseUrl: 'https://api.mistral.ai',
    path: '/v1',
    features: ['chat', 'embeddings'],
    list: 'mistral',
  },
  xai: { style: 'responses', baseUrl: 'https://api.x.ai', path: '/v1', features: ['chat'], list: 'x-ai' },
  groq: { style: 'responses', baseUrl: 'https://api.groq.com/openai', path: '/v1', features: ['chat'], list: 'groq' },
  together: {
    style: 'responses',
    baseUrl: 'https://api.together.xyz',
    path: '/v1',
    features: ['chat', 'embeddings'],
    list: 'together',
  },
  fireworks: {
    style: 'responses',
    baseUrl: 'https://api.fireworks.ai/inference',
    path: '/v1',
    features: ['chat', 'embeddings'],
    list: 'fireworks',
  },
  cerebras: {
    style: 'responses',
    baseUrl: 'https://api.cerebras.ai',
    path: '/v1',
    features: ['chat'],
    list: 'cerebras',
  },
  cohere: {
    style: 'responses',
    baseUrl: 'https://api.cohere.ai',
    path: '/compatibility/v1',
    features: ['chat', 'embeddings'],
    list: 'cohere',
  },
  perplexity: { style: 'responses', baseUrl: 'https://api.perplexity.ai', features: ['chat'], list: 'perplexity' },
  minimax: {
    style: 'responses',
    baseUrl: 'https://api.minimax.chat',
    path: '/v1',
    features: ['chat'],
    list: 'minimax',
  },
  qwen: {
    style: 'responses',
    baseUrl: 'https://dashscope.aliyuncs.com',
    path: '/compatible-mode/v1',
    features: ['chat', 'embeddings'],
  },
  zai: {
    style: 'responses',
    baseUrl: 'https://open.bigmodel.cn',
    path: '/api/paas/v4',
    features: ['chat', 'embeddings'],
    list: 'zhipuai',
  },
  volcengine: {
    style: 'responses',
    baseUrl: 'https://ark.cn-beijing.volces.com',
    path: '/api/v3',
    features: ['chat', 'embeddings'],
  },
  qianfan: {
    style: 'responses',
    baseUrl: 'https://qianfan.baidubce.com',
    path: '/v2',
    features: ['chat', 'embeddings'],
  },
  spark: { style: 'responses', baseUrl: 'https://spark-api-open.xf-yun.com', path: '/v1', features: ['chat'] },
  siliconflow: {
    style: 'responses',
    baseUrl: 'https://api.siliconflow.cn',
    path: '/v1',
    features: ['chat', 'embeddings'],
  },
  lingyiwanwu: { style: 'responses', baseUrl: 'https://api.lingyiwanwu.com', path: '/v1', features: ['chat'] },
  stepfun: { style: 'responses', baseUrl: 'https://api.stepfun.com', path: '/v1', features: ['chat'] },
  baichuan: {
    style: 'responses',
    baseUrl: 'https://api.baichuan-ai.com',
    path: '/v1',
    features: ['chat', 'embeddings'],
  },
  novita: {
    style: 'responses',
    baseUrl: 'https://api.novita.ai/v3/openai',
    features: ['chat', 'embeddings'],
    list: 'novita',
  },
  deepinfra: { style: 'responses', baseUrl: 'https://api.deepinfra.com/v1/openai', features: ['chat', 'embeddings'] },
  huggingface: { style: 'responses', baseUrl: 'https://router.huggingface.co', path: '/v1', features: ['chat'] },
  nvidia: {
    style: 'responses',
    baseUrl: 'https://integrate.api.nvidia.com',
    path: '/v1',
    features: ['chat', 'embeddings'],
  },
} as const satisfies Record<string, ImportedKindRow>;
export type ImportedKind = keyof typeof IMPORTED_KINDS;
export const importedKind = (kind: ImportedKind): ImportedKindRow => IMPORTED_KINDS[kind];

/** Numbers of channel types that new-api and one-api share. */
const SHARED_CHANNELS = {
  1: 'openai',
  3: 'azure',
  6: 'relay',
  7: 'relay',
  10: 'relay',
  12: 'relay',
  13: 'relay',
  14: 'anthropic',
  17: 'qwen',
  20: 'openrouter',
  24: 'gemini',
  25: 'moonshot',
  31: 'lingyiwanwu',
  33: 'bedrock',
} as const satisfies Readonly<Record<number, ImportedKind>>;

export type ForeignGateway = 'new-api' | 'one-api' | 'sub2api' | 'litellm';

/** By the number of a channel type, or by the name of a provider. */
export const KINDS_BY_SOURCE: Readonly<Record<ForeignGateway, Readonly<Record<string, ImportedKind>>>> = {
  'new-api': {
    ...SHARED_CHANNELS,
    4: 'ollama',
    8: 'compatible',
    26: 'zai',
    27: 'perplexity',
    34: 'cohere',
    35: 'minimax',
    40: 'siliconflow',
    41: 'vertex',
    42: 'mistral',
    43: 'deepseek',
    45: 'volcengine',
    46: 'qianfan',
    47: 'vllm',
    48: 'xai',
    59: 'relay',
    60: 'relay',
  },
  'one-api': {
    ...SHARED_CHANNELS,
    4: 'relay',
    8: 'relay',
    16: 'zai',
    26: 'baichuan',
    27: 'minimax',
    28: 'mistral',
    29: 'groq',
    30: 'ollama',
    32: 'stepfun',
    35: 'cohere',
    36: 'deepseek',
    39: 'together',
    40: 'volcengine',
    41: 'novita',
    42: 'vertex',
    44: 'siliconflow',
    45: 'xai',
    47: 'qianfan',
    48: 'spark',
    49: 'qwen',
    50: 'compatible',
    51: 'gemini-openai',
  },
  sub2api: { anthropic: 'anthropic', openai: 'openai', gemini: 'gemini' },
  litellm: {
    openai: 'openai',
    custom_openai: 'compatible',
    openai_like: 'compatible',
    'text-completion-openai': 'openai',
    azure: 'azure',
    azure_ai: 'compatible',
    anthropic: 'anthropic',
    gemini: 'gemini',
    vertex_ai: 'vertex',
    bedrock: 'bedrock',
    ollama: 'ollama',
    ollama_chat: 'ollama',
    hosted_vllm: 'vllm',
    vllm: 'vllm',
    openrouter: 'openrouter',
    moonshot: 'moonshot',
    deepseek: 'deepseek',
    mistral: 'mistral',
    xai: 'xai',
    groq: 'groq',
    together_ai: 'together',
    fireworks_ai: 'fireworks',
    cerebras: 'cerebras',
    cohere: 'cohere',
    cohere_chat: 'cohere',
    perplexity: 'perplexity',
    minimax: 'minimax',
    dashscope: 'qwen',
    zai: 'zai',
    volcengine: 'volcengine',
    novita: 'novita',
    deepinfra: 'deepinfra',
    huggingface: 'huggingface',
    nvidia_nim: 'nvidia',
  },
};

/** Names in new-api of the channel types that are left, by their number there. */
const LEFT_CHANNELS: Readonly<Record<string, string>> = {
  2: 'Midjourney',
  5: 'MidjourneyPlus',
  9: 'AILS',
  11: 'PaLM',
  15: 'Baidu',
  16: 'Zhipu',
  18: 'Xunfei',
  19: '360',
  21: 'AIProxyLibrary',
  22: 'FastGPT',
  23: 'Tencent',
  36: 'Suno',
  37: 'Dify',
  38: 'Jina',
  39: 'Cloudflare',
  44: 'MokaAI',
  49: 'Coze',
  50: 'Kling',
  51: 'Jimeng',
  52: 'Vidu',
  53: 'Submodel',
  54: 'DoubaoVideo',
  55: 'Sora',
  56: 'Replicate',
  57: 'Codex',
  58: 'AdvancedCustom',
};

/** The number of a channel type, and its name where it has one. */
export function foreignKindName(source: ForeignGateway, type: string): string {
  const name = source === 'new-api' ? LEFT_CHANNELS[type] : undefined;
  return name === undefined ? type : `${type} (${name})`;
}

/** What channels of new-api may have for an address. */
export const CODING_PLANS: Readonly<Record<string, string>> = {
  'glm-coding-plan': 'https://open.bigmodel.cn/api/coding/paas/v4',
  'glm-coding-plan-international': 'https://api.z.ai/api/coding/paas/v4',
  'kimi-coding-plan': 'https://api.kimi.com/coding/v1',
  'doubao-coding-plan': 'https://ark.cn-beijing.volces.com/api/coding/v3',
};

/** A model without a provider before its name, in LiteLLM. */
export const BARE_MODELS: readonly (readonly [name: RegExp, kind: ImportedKind])[] = [
  [/^(?:gpt-|chatgpt-|o\d|text-embedding-|dall-e|codex-)/, 'openai'],
  [/^claude-/, 'anthropic'],
];

const REDEMPTION_CODES = 'redemption codes; redeem or cancel them before the switch';
const PLANS = 'plans; a balance, or limits per day and month, take their place';
const OAUTH_SIGN_INS = 'sign-ins by OAuth; people set a password by their link, or use OpenID Connect';
const CALL_RECORDS = 'records of single calls; keep the old database for your books';

/** Tables of the sources whose rows have no counterpart here; only those that have rows are reported. */
const LEFT_TABLES: Readonly<Record<ForeignGateway, Readonly<Record<string, string>>>> = {
  'new-api': {
    redemptions: REDEMPTION_CODES,
    subscription_plans: PLANS,
    user_subscriptions: 'running plans; credit what is left of them',
    passkey_credentials: 'passkeys; people set a password by their link, or use OpenID Connect',
    two_fas: 'second factors; people set a password by their link, or use OpenID Connect',
    user_oauth_bindings: OAUTH_SIGN_INS,
    top_ups: 'payments of the past; keep the old database for your books',
    logs: CALL_RECORDS,
  },
  'one-api': {
    redemptions: REDEMPTION_CODES,
    logs: CALL_RECORDS,
  },
  sub2api: {
    redeem_codes: REDEMPTION_CODES,
    user_subscriptions: 'plans of users; credit what is left of them',
    subscription_plans: PLANS,
    user_group_rate_multipliers: 'factors of single users in groups; set `multiplier` of these users',
    channel_model_pricing: 'prices of channels; set them by hand',
    user_platform_quotas: 'quotas of users by platform',
    composite_model_routes: 'routes of composite groups; give keys several groups',
    promo_codes: 'promotion codes',
    auth_identities: OAUTH_SIGN_INS,
    usage_logs: CALL_RECORDS,
  },
  litellm: {
    LiteLLM_OrganizationTable: 'organizations; users and groups are the only levels here',
    LiteLLM_ProjectTable: 'projects; use a key for each',
    LiteLLM_Config: 'settings that are stored in the database; set what you need of them by hand',
    LiteLLM_DeprecatedVerificationToken: 'rotated keys whose old value still works for a while',
    LiteLLM_JWTKeyMapping: 'sign-ins by JWT',
    LiteLLM_TeamMembership: 'budgets of members of teams',
    LiteLLM_AccessGroupTable: 'access groups; name the models of their keys',
    LiteLLM_EndUserTable: 'customers named in requests; use a user or a key for each',
    LiteLLM_MCPServerTable: 'MCP servers',
    LiteLLM_GuardrailsTable: 'guardrails; only those of Bedrock accounts have a counterpart',
    LiteLLM_TagTable: 'tags',
    LiteLLM_SpendLogs: CALL_RECORDS,
  },
};

/** Names of the tables, with what to do about their rows. */
export const leftTables = (source: ForeignGateway): (readonly [table: string, note: string])[] =>
  Object.entries(LEFT_TABLES[source]);
