/** What other gateways call the services of their accounts, and the account each becomes (`src/program/import`); what has no row is reported as lost. */
import type { Feature, Style } from './groups.ts';
import { pairsIn, rowsIn, words } from './notation.ts';

interface ImportedKindRow {
  readonly style: Style;
  /** Where the service is, unless the account says so. */
  readonly baseUrl: string;
  /** What the other gateway adds to an address, and an account here has in it. */
  readonly path: string;
  /** Of servers that speak a dialect of the style only in part; undefined for all of it. */
  readonly features: readonly Feature[] | undefined;
  /** Its name in the public price list. */
  readonly list: string | undefined;
}

const some = (cell: string): string | undefined => (cell === '-' ? undefined : cell);

/** Style, address, path, features and the name in the public price list. */
export const IMPORTED_KINDS = rowsIn(
  `
openai: responses | https://api.openai.com | /v1 | - | openai
relay: responses | - | /v1 | chat images embeddings | openai
compatible: responses | - | - | chat embeddings | -
gemini-openai: responses | https://generativelanguage.googleapis.com/v1beta/openai | - | chat embeddings | google
anthropic: messages | https://api.anthropic.com | - | - | anthropic
gemini: generate-content | https://generativelanguage.googleapis.com | - | - | google
azure: responses | - | - | - | azure
bedrock: messages | - | - | - | aws
vertex: generate-content | - | - | - | google
ollama: responses | http://localhost:11434 | /v1 | chat embeddings | -
vllm: responses | - | /v1 | chat embeddings | -
openrouter: responses | https://openrouter.ai/api | /v1 | chat | openrouter
moonshot: responses | https://api.moonshot.cn | /v1 | chat | moonshotai
deepseek: responses | https://api.deepseek.com | /v1 | chat | deepseek
mistral: responses | https://api.mistral.ai | /v1 | chat embeddings | mistral
xai: responses | https://api.x.ai | /v1 | chat | x-ai
groq: responses | https://api.groq.com/openai | /v1 | chat | groq
together: responses | https://api.together.xyz | /v1 | chat embeddings | together
fireworks: responses | https://api.fireworks.ai/inference | /v1 | chat embeddings | fireworks
cerebras: responses | https://api.cerebras.ai | /v1 | chat | cerebras
cohere: responses | https://api.cohere.ai | /compatibility/v1 | chat embeddings | cohere
perplexity: responses | https://api.perplexity.ai | - | chat | perplexity
minimax: responses | https://api.minimax.chat | /v1 | chat | minimax
qwen: responses | https://dashscope.aliyuncs.com | /compatible-mode/v1 | chat embeddings | -
zai: responses | https://open.bigmodel.cn | /api/paas/v4 | chat embeddings | zhipuai
volcengine: responses | https://ark.cn-beijing.volces.com | /api/v3 | chat embeddings | -
qianfan: responses | https://qianfan.baidubce.com | /v2 | chat embeddings | -
spark: responses | https://spark-api-open.xf-yun.com | /v1 | chat | -
siliconflow: responses | https://api.siliconflow.cn | /v1 | chat embeddings | -
lingyiwanwu: responses | https://api.lingyiwanwu.com | /v1 | chat | -
stepfun: responses | https://api.stepfun.com | /v1 | chat | -
baichuan: responses | https://api.baichuan-ai.com | /v1 | chat embeddings | -
novita: responses | https://api.novita.ai/v3/openai | - | chat embeddings | novita
deepinfra: responses | https://api.deepinfra.com/v1/openai | - | chat embeddings | -
huggingface: responses | https://router.huggingface.co | /v1 | chat | -
nvidia: responses | https://integrate.api.nvidia.com | /v1 | chat embeddings | -
`,
  ([style = '', baseUrl = '', path = '', features = '', list = '']): ImportedKindRow => ({
    style: style as Style,
    baseUrl: some(baseUrl) ?? '',
    path: some(path) ?? '',
    features: some(features) === undefined ? undefined : (words(features) as Feature[]),
    list: some(list),
  }),
);
export type ImportedKind = keyof typeof IMPORTED_KINDS;

/** `theirs:ours`, by the number of a channel type or the name of a provider. */
const kindsIn = (...lines: readonly string[]) => pairsIn(...lines) as Readonly<Record<string, ImportedKind>>;

/** Numbers that new-api and one-api share. */
const CHANNELS =
  '1:openai 3:azure 6:relay 7:relay 10:relay 12:relay 13:relay 14:anthropic 17:qwen 20:openrouter 24:gemini 25:moonshot';

export type ForeignGateway = 'new-api' | 'one-api' | 'sub2api' | 'litellm';

export const KINDS_BY_SOURCE: Readonly<Record<ForeignGateway, Readonly<Record<string, ImportedKind>>>> = {
  'new-api': kindsIn(
    CHANNELS,
    '4:ollama 8:compatible 26:zai 27:perplexity 31:lingyiwanwu 33:bedrock 34:cohere 35:minimax 40:siliconflow 41:vertex 42:mistral',
    '43:deepseek 45:volcengine 46:qianfan 47:vllm 48:xai 59:relay 60:relay',
  ),
  'one-api': kindsIn(
    CHANNELS,
    '4:relay 8:relay 16:zai 26:baichuan 27:minimax 28:mistral 29:groq 30:ollama 31:lingyiwanwu 32:stepfun 33:bedrock 35:cohere 36:deepseek',
    '39:together 40:volcengine 41:novita 42:vertex 44:siliconflow 45:xai 47:qianfan 48:spark 49:qwen 50:compatible 51:gemini-openai',
  ),
  sub2api: kindsIn('anthropic:anthropic openai:openai gemini:gemini'),
  litellm: kindsIn(
    'openai:openai custom_openai:compatible openai_like:compatible text-completion-openai:openai azure:azure azure_ai:compatible',
    'anthropic:anthropic gemini:gemini vertex_ai:vertex bedrock:bedrock ollama:ollama ollama_chat:ollama hosted_vllm:vllm',
    'vllm:vllm openrouter:openrouter moonshot:moonshot deepseek:deepseek mistral:mistral xai:xai groq:groq together_ai:together',
    'fireworks_ai:fireworks cerebras:cerebras cohere:cohere cohere_chat:cohere perplexity:perplexity minimax:minimax',
    'dashscope:qwen zai:zai volcengine:volcengine novita:novita deepinfra:deepinfra huggingface:huggingface nvidia_nim:nvidia',
  ),
};

/** Names in new-api of the channel types that are left, by their number there. */
const LEFT_CHANNELS = pairsIn(
  '2:Midjourney 5:MidjourneyPlus 9:AILS 11:PaLM 15:Baidu 16:Zhipu 18:Xunfei 19:360 21:AIProxyLibrary 22:FastGPT 23:Tencent',
  '36:Suno 37:Dify 38:Jina 39:Cloudflare 44:MokaAI 49:Coze 50:Kling 51:Jimeng 52:Vidu 53:Submodel 54:DoubaoVideo 55:Sora',
  '56:Replicate 57:Codex 58:AdvancedCustom',
);

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

/** Tables of the sources whose rows have no counterpart here; only those that have rows are reported. */
const LEFT_TABLES = rowsIn(
  `
new-api/redemptions: redemption codes; redeem or cancel them before the switch
new-api/subscription_plans: plans; a balance, or limits per day and month, take their place
new-api/user_subscriptions: running plans; credit what is left of them
new-api/passkey_credentials: passkeys; people set a password by their link, or use OpenID Connect
new-api/two_fas: second factors; people set a password by their link, or use OpenID Connect
new-api/user_oauth_bindings: sign-ins by OAuth; people set a password by their link, or use OpenID Connect
new-api/top_ups: payments of the past; keep the old database for your books
new-api/logs: records of single calls; keep the old database for your books
one-api/redemptions: redemption codes; redeem or cancel them before the switch
one-api/logs: records of single calls; keep the old database for your books
sub2api/redeem_codes: redemption codes; redeem or cancel them before the switch
sub2api/user_subscriptions: plans of users; credit what is left of them
sub2api/subscription_plans: plans; a balance, or limits per day and month, take their place
sub2api/user_group_rate_multipliers: factors of single users in groups; set 'multiplier' of these users
sub2api/channel_model_pricing: prices of channels; set them by hand
sub2api/user_platform_quotas: quotas of users by platform
sub2api/composite_model_routes: routes of composite groups; give keys several groups
sub2api/promo_codes: promotion codes
sub2api/auth_identities: sign-ins by OAuth; people set a password by their link, or use OpenID Connect
sub2api/usage_logs: records of single calls; keep the old database for your books
litellm/LiteLLM_OrganizationTable: organizations; users and groups are the only levels here
litellm/LiteLLM_ProjectTable: projects; use a key for each
litellm/LiteLLM_Config: settings that are stored in the database; set what you need of them by hand
litellm/LiteLLM_DeprecatedVerificationToken: rotated keys whose old value still works for a while
litellm/LiteLLM_JWTKeyMapping: sign-ins by JWT
litellm/LiteLLM_TeamMembership: budgets of members of teams
litellm/LiteLLM_AccessGroupTable: access groups; name the models of their keys
litellm/LiteLLM_EndUserTable: customers named in requests; use a user or a key for each
litellm/LiteLLM_MCPServerTable: MCP servers
litellm/LiteLLM_GuardrailsTable: guardrails; only those of Bedrock accounts have a counterpart
litellm/LiteLLM_TagTable: tags
litellm/LiteLLM_SpendLogs: records of single calls; keep the old database for your books
`,
  ([note = '']) => note,
);

/** Names of the tables, with what to do about their rows. */
export const leftTables = (source: ForeignGateway): (readonly [table: string, note: string])[] =>
  Object.entries(LEFT_TABLES).flatMap(([name, note]) =>
    name.startsWith(`${source}/`) ? [[name.slice(source.length + 1), note] as const] : [],
  );
