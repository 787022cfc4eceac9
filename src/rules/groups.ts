/** Names of styles, dialects and account features (G 1). The responses style has two dialects: responses and chat. */

/** Styles of a key's group. Video groups come in addition to the key's own group, never instead of it. */
export const STYLES = ['responses', 'messages', 'generate-content'] as const;
export type Style = (typeof STYLES)[number];

/** What a group does with a request that has a member which no table knows (`members/`). */
export const UNKNOWN_MEMBERS = ['bound', 'reject'] as const;
export type UnknownMembers = (typeof UNKNOWN_MEMBERS)[number];

/** How a key with several groups chooses among those that have the model of a request. */
export const GROUP_ORDERS = ['order', 'native'] as const;
export type GroupOrder = (typeof GROUP_ORDERS)[number];
/** Groups of one key, and of one account. */
export const MAX_GROUPS = 32;

export const VIDEO_VARIANTS = ['A', 'EP', 'HC'] as const;
export type VideoVariant = (typeof VIDEO_VARIANTS)[number];

/**
 * Families of video accounts by task API: `ark` the contract's, `dragoman` another gateway's, `veo` Google's, `minimax`
 * that of Hailuo.
 */
export const VIDEO_ADAPTERS = ['ark', 'dragoman', 'veo', 'minimax'] as const;
export type VideoAdapter = (typeof VIDEO_ADAPTERS)[number];

export const DIALECTS = ['messages', 'chat', 'responses', 'generate'] as const;
export type Dialect = (typeof DIALECTS)[number];
/** Dialects of providers. Nobody calls the gateway in Converse, Bedrock's format for all its models. */
export const UPSTREAM_DIALECTS = [...DIALECTS, 'converse'] as const;
export type UpstreamDialect = (typeof UPSTREAM_DIALECTS)[number];
/** Dialects of callers. The images API is not a dialect of providers here: it is converted or passes as it is. */
export type ClientDialect = Dialect | 'images';
/** Dialects with an endpoint that counts tokens. */
export type CountedDialect = Exclude<Dialect, 'chat'>;

/** Features that an upstream account of each style can have. An account without some of them lists the others. */
export const FEATURES = {
  responses: ['responses', 'chat', 'websocket', 'images', 'embeddings'],
  messages: ['messages', 'count'],
  'generate-content': ['generate', 'count'],
  video: ['video'],
} as const satisfies Record<Style | 'video', readonly string[]>;
/**
 * Features that an account has only when it lists them. `objects`: callers of the group may name any file, cache,
 * store, container, item, conversation or tuned model of the account. `converse`: the account is one at Bedrock, and
 * serves by Converse. `search`: it serves `/v1/alpha/search`, which few providers do. `batches`: batches of users are
 * sent as batches of the provider, which are cheaper.
 */
export const OPT_IN_FEATURES = {
  responses: ['objects', 'converse', 'search', 'batches'],
  messages: ['objects', 'converse', 'batches'],
  'generate-content': ['objects', 'converse'],
  video: [],
} as const satisfies Record<Style | 'video', readonly string[]>;

export type Feature = (typeof FEATURES)[Style | 'video'][number] | (typeof OPT_IN_FEATURES)[Style | 'video'][number];

/**
 * The style whose errors and opaque values a dialect has, in a group of a style. Those of Converse have the form of
 * Anthropic's.
 */
export const styleOf = (dialect: UpstreamDialect, group: Style): Style => (dialect === 'converse' ? 'messages' : group);
