/**
 * What each field of the configuration file means, for docs/config.md. The types and limits come from the schema; a test compares the
 * two lists, and puts every example into a file.
 */

export interface FieldNote {
  readonly about: string;
  /** As it stands in the file. */
  readonly example: string;
  /** What a new object has without the field. Absent for required fields, and where nothing is the default. */
  readonly fallback?: string;
  readonly unit?: string;
}

const DOLLARS = 'US dollars';
const PER_MILLION = 'US dollars per million tokens';

const limits = (whose: string) =>
  ({
    rpm: { about: `requests per minute of ${whose}`, unit: 'requests', example: '600', fallback: 'no limit' },
    tpm: { about: `tokens per minute of ${whose}`, unit: 'tokens', example: '200000', fallback: 'no limit' },
    concurrency: { about: `open requests of ${whose}`, unit: 'requests', example: '8', fallback: 'no limit' },
    spend_day: { about: `charges of ${whose} per UTC day`, unit: DOLLARS, example: '"5"', fallback: 'no limit' },
    spend_month: { about: `charges of ${whose} per UTC month`, unit: DOLLARS, example: '"50"', fallback: 'no limit' },
  }) as const satisfies Readonly<Record<string, FieldNote>>;

/** By list of the file, then by path inside an entry. A member with members of its own is listed before them. */
export const FIELD_NOTES = {
  groups: {
    id: { about: 'name of the group, in keys, models and accounts', example: 'openai' },
    style: {
      about:
        'API of its providers: `responses` for OpenAI and compatible servers, `messages` for Anthropic, `generate-content` for Gemini',
      example: 'responses',
    },
    variant: { about: 'of a video group, and of no other: which parameters its models accept', example: 'A' },
    name: { about: 'text for people', example: '"OpenAI, EU accounts"', fallback: 'the id' },
    multiplier: { about: 'of every price of the group', example: '"1.2"', fallback: '"1"' },
  },
  accounts: {
    id: { about: 'name of the account, in logs and reports', example: 'openai-1' },
    group: { about: 'its group', example: 'openai' },
    adapter: {
      about:
        'of a video account: the provider, or another Dragoman; see [video.md](video.md#another-dragoman-as-upstream)',
      example: 'dragoman',
      fallback: 'ark',
    },
    base_url: {
      about:
        'address of the provider: with `/v1` for responses, without a version for messages and generate-content, with `/api/v3` for video',
      example: '"https://api.openai.com/v1"',
    },
    api_key: {
      about: `the credential: its value, \`"\${NAME}"\` for a variable of the environment, or \`api_key_file\` with a path beside the file`,
      example: '"sk-..."',
    },
    proxy: {
      about: `way to the provider; see [Outbound proxies](operating/network.md#outbound-proxies). Also \`"\${NAME}"\` or \`proxy_file\``,
      example: '"http://proxy.internal:3128"',
      fallback: 'environment',
    },
    weight: {
      about: 'share of the requests among accounts of one priority; 0 only when no other is left',
      example: '2',
      fallback: '1',
    },
    priority: {
      about: 'lower numbers are used first; the next ones while those are full or out',
      example: '1',
      fallback: '0',
    },
    max_concurrency: { about: 'requests in flight on one server', unit: 'requests', example: '32', fallback: '64' },
    cost_multiplier: {
      about: 'of the `cost` of models, for a discount of this account',
      example: '"0.9"',
      fallback: '"1"',
    },
    features: {
      about:
        'what the account offers. `[chat]` for a server with chat completions only; `objects` lets callers name stored files and containers',
      example: '[responses, chat]',
      fallback: 'all of its style but `objects`',
    },
    preset: {
      about: 'kind of a chat-completions server; see [chat-servers.md](guides/chat-servers.md)',
      example: 'vllm',
      fallback: '`auto`: by the host of base_url',
    },
    capabilities: {
      about: 'what the server accepts, over its preset and its models',
      example: '{ imageInput: false }',
    },
    'capabilities.sampling': { about: 'whether temperature and its like are accepted', example: 'none' },
    'capabilities.efforts': { about: 'accepted reasoning efforts; others become the nearest', example: '[low, high]' },
    'capabilities.prefill': { about: 'a conversation may end with an assistant turn', example: 'false' },
    'capabilities.midSystem': { about: 'system messages may stand in the middle', example: 'false' },
    'capabilities.stop': { about: 'stop sequences are accepted', example: 'true' },
    'capabilities.customTools': { about: 'tools with free text are accepted', example: 'false' },
    'capabilities.explicitCache': { about: 'cache breakpoints are accepted', example: 'false' },
    'capabilities.urlMedia': { about: 'images and files may be named by https address', example: 'false' },
    'capabilities.maxOutput': { about: 'largest output', unit: 'tokens', example: '8192' },
    'capabilities.outputLimitField': { about: 'name of the output limit', example: 'max_tokens' },
    'capabilities.refusedFields': {
      about: 'optional fields that the server rejects; they are dropped',
      example: '[seed, logit_bias]',
    },
    'capabilities.toolChoices': { about: 'forms of `tool_choice` beside `auto`', example: '[none, required]' },
    'capabilities.schemaFormat': {
      about: 'strictest response format; a schema that it lacks becomes an instruction',
      example: 'json_object',
    },
    'capabilities.textParts': { about: 'content may be a list of text parts', example: 'false' },
    'capabilities.imageInput': { about: 'images may be sent', example: 'false' },
    'capabilities.thinkingField': { about: 'field that asks the server to think', example: 'enable_thinking' },
    'capabilities.reasoningHistory': { about: 'how reasoning goes back with tool calls', example: 'reasoning_content' },
    'capabilities.thinkTags': { about: 'replies may begin with `<think>`', example: 'true' },
    models: {
      about: 'names of models at this account, by the name that would be sent otherwise',
      example: '{ "qwen3-32b": "qwen3:32b" }',
    },
    result_hosts: {
      about: 'of a video account: hosts of results beside `base_url`, where `*` stands for any characters',
      example: '["*.storage.example.com"]',
      fallback: 'none',
    },
    assets: {
      about: 'of a video account: the asset library of the provider',
      example:
        '{ base_url: "https://assets.example.com", access_key: "AK", secret_key: "SK", region: "eu-1", project: "default" }',
    },
    'assets.base_url': { about: 'its address', example: '"https://assets.example.com"' },
    'assets.access_key': { about: 'its access key', example: '"AK..."' },
    'assets.secret_key': { about: `its secret; also \`"\${NAME}"\` or \`secret_key_file\``, example: '"SK..."' },
    'assets.region': { about: 'its region', example: '"eu-1"' },
    'assets.project': { about: 'the project of `api_key`', example: '"default"' },
  },
  models: {
    id: {
      about: 'name that callers use, or a pattern with `*`. The first line of the group that matches decides',
      example: '"gpt-*"',
    },
    groups: { about: 'groups that serve the model', example: '[openai]' },
    upstream: { about: 'name that is sent to the provider', example: '"gpt-5"', fallback: 'the name of the request' },
    prices: {
      about: 'what users pay; required unless `free`',
      example: '{ input: "1.25", cached_input: "0.125", output: "10" }',
    },
    'prices.input': { about: 'input tokens', unit: PER_MILLION, example: '"1.25"' },
    'prices.cached_input': {
      about: 'input read from a prompt cache',
      unit: PER_MILLION,
      example: '"0.125"',
      fallback: '`input`',
    },
    'prices.cache_write': {
      about: 'input written to a prompt cache',
      unit: PER_MILLION,
      example: '"3.75"',
      fallback: '`input`',
    },
    'prices.cache_write_1h': {
      about: 'the same, kept for an hour',
      unit: PER_MILLION,
      example: '"6"',
      fallback: '`cache_write`',
    },
    'prices.output': { about: 'output tokens', unit: PER_MILLION, example: '"10"' },
    'prices.reasoning': { about: 'reasoning tokens', unit: PER_MILLION, example: '"10"', fallback: '`output`' },
    'prices.audio_input': { about: 'audio in the input', unit: PER_MILLION, example: '"32"', fallback: '`input`' },
    'prices.audio_output': { about: 'audio in the output', unit: PER_MILLION, example: '"64"', fallback: '`output`' },
    'prices.image_input': { about: 'images in the input', unit: PER_MILLION, example: '"10"', fallback: '`input`' },
    'prices.image_output': {
      about: 'generated images, by tokens',
      unit: PER_MILLION,
      example: '"40"',
      fallback: '`output`',
    },
    'prices.per_image': {
      about: 'generated images, by piece: a table by `size/quality`, by `size`, or `*`',
      unit: `${DOLLARS} per image`,
      example: '{ "1024x1024/high": "0.17", "*": "0.04" }',
      fallback: 'none',
    },
    'prices.per_search': {
      about: 'searches of the provider',
      unit: `${DOLLARS} per search`,
      example: '"0.01"',
      fallback: 'none',
    },
    'prices.tiers': {
      about: 'service tiers `priority`, `flex` and `fast`: rates of their own, or a `multiplier` of all rates',
      example: '{ priority: { multiplier: "2" } }',
      fallback: 'requests for a tier get 400',
    },
    'prices.video': {
      about: 'video tokens: one rate, or a table by resolution',
      unit: PER_MILLION,
      example: '{ "720p": "7", "1080p": "7.7" }',
      fallback: 'a video model cannot be used',
    },
    'prices.video_with_video_input': {
      about: 'the same for requests with a video in `content`',
      unit: PER_MILLION,
      example: '"4.3"',
      fallback: '`video`',
    },
    cost: {
      about: 'what the provider charges you, with the members of `prices`; for reports and margins',
      example: '{ input: "1", output: "8" }',
      fallback: 'unknown',
    },
    free: { about: 'serves the model without a price', example: 'true', fallback: 'false' },
    capabilities: {
      about:
        'what the model accepts. Text and images: `src/rules/capabilities.ts`. Video: `resolutions`, `ratios`, `cancel_queued`, `default_duration`',
      example: '{ imagesEndpoint: true }',
      fallback: 'by the name of the model',
    },
    context: {
      about: 'largest input; a request reserves no more than that',
      unit: 'tokens',
      example: '400000',
    },
    max_output: {
      about: 'largest output; a request without a limit of its own reserves this',
      unit: 'tokens',
      example: '128000',
      fallback: '32,000 are reserved',
    },
    valid_from: { about: 'time from which the prices are in force', example: '2030-01-31T00:00:00Z', fallback: 'now' },
  },
  users: {
    id: { about: 'name of the user, the owner of a wallet and of keys', example: 'ana' },
    email: { about: 'address, for operators', example: 'ana@example.test' },
    balance: {
      about: 'opening balance, booked once; later changes of the field do nothing',
      unit: DOLLARS,
      example: '"100"',
      fallback: '"0"',
    },
    multiplier: { about: 'of every price for this user', example: '"0.9"', fallback: '"1"' },
    max_keys: {
      about: 'valid keys that people of the user may make in the console',
      unit: 'keys',
      example: '10',
      fallback: '0',
    },
    key_groups: { about: 'groups of these keys, video groups included', example: '[openai]', fallback: 'all' },
    ...limits('all keys of the user together'),
  },
  keys: {
    user: { about: 'owner: a user of the file or of the database', example: 'ana' },
    group: { about: 'group that requests of the key go to', example: 'openai' },
    name: {
      about: 'with the user and the group, what identifies the key in later files',
      example: 'laptop',
      fallback: 'default',
    },
    key: {
      about: 'the value. Without it a key is generated and printed once',
      example: '"my-own-key-of-20-characters"',
      fallback: 'generated',
    },
    video_groups: { about: 'video groups in order of preference', example: '[video-a]', fallback: 'all' },
    expires_at: { about: 'time from which the key is refused', example: '2030-01-31T00:00:00Z', fallback: 'never' },
    models: {
      about: 'models that the key may use, with `*` for any characters',
      example: '["gpt-*"]',
      fallback: 'all of its groups',
    },
    addresses: {
      about: 'addresses and networks that the key may be used from',
      example: '["10.0.0.0/8"]',
      fallback: 'all',
    },
    store: { about: 'whether responses are stored for later reference', example: 'false', fallback: 'true' },
    ...limits('the key'),
  },
  characters: {
    id: { about: 'name of the character for operators', example: 'presenter' },
    group: { about: 'its video group', example: 'video-ep' },
    models: { about: 'models that can use it', example: '["my-video"]' },
    upstream_asset: { about: 'id of the preset at the provider', example: 'asset-20260101000000-prst1' },
    name: { about: 'name for callers', example: '"Studio presenter"' },
    tags: { about: 'for callers to filter by', example: '[studio, news]', fallback: 'none' },
    gender: { about: 'for callers to filter by', example: 'female' },
    age_group: { about: 'for callers to filter by', example: 'adult' },
    nationality: { about: 'for callers to filter by', example: 'Norwegian' },
    preview_url: { about: 'address of a picture', example: '"https://example.com/presenter.png"', fallback: 'none' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FieldNote>>>>;
