/**
 * Converse, the format of Bedrock for all its models, in front of the simulated model of Anthropic. Checks requests as
 * the documentation and the published API model define them: members, unions, patterns, ranges, and what one member
 * demands of another.
 */
import type { Failure } from '../errors.ts';
import { isObject, type Json, type JsonObject, listOf, objectOf, objectsOf, stringsOf, textOf } from '../json.ts';
import { awsMessage } from './aws-frames.ts';

export const GUARDRAIL = { id: 'gr0simulated', version: '1' } as const;
/** The guardrail blocks prompts with these words. */
const FORBIDDEN = /\bforbidden topic\b/i;
const BLOCKED = 'Blocked by the guardrail (simulated).';

type Refuse = (message: string) => Failure;

// ---------------------------------------------------------------- requests

const MEMBERS: ReadonlySet<string> = new Set([
  ...['messages', 'system', 'inferenceConfig', 'toolConfig', 'guardrailConfig', 'additionalModelRequestFields'],
  ...['promptVariables', 'additionalModelResponseFieldPaths', 'requestMetadata', 'performanceConfig', 'serviceTier'],
  'outputConfig',
]);
const IMAGES = ['png', 'jpeg', 'gif', 'webp'];
const VIDEOS = ['mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'mpg', 'wmv', 'three_gp'];
const DOCUMENTS = ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'];
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const DOCUMENT_NAME = /^(?!.*\s{2})[a-zA-Z0-9\s()[\]-]{1,200}$/;
const METADATA = /^[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const CHOICES = ['auto', 'any', 'tool'];
const TIERS = ['default', 'flex', 'priority', 'reserved'];

/** Reads one request: its body as that of the Messages API, and what its reply needs. */
export class ConverseRequest {
  readonly #json: JsonObject;
  readonly #refuse: Refuse;
  readonly #model: string;
  readonly #documents = new Set<string>();
  #hasCalls = false;

  constructor(json: JsonObject, model: string, refuse: Refuse) {
    this.#json = json;
    this.#model = model;
    this.#refuse = refuse;
  }

  read(): { readonly body: JsonObject; readonly isGuarded: boolean } {
    const { messages, system, inferenceConfig, toolConfig, guardrailConfig } = this.#json;
    for (const name of Object.keys(this.#json)) if (!MEMBERS.has(name)) this.#malformed(`#: extraneous key [${name}]`);
    this.#checkOptions();
    const turns = this.#messages(messages);
    const tools = this.#tools(objectOf(toolConfig));
    if (this.#hasCalls && tools.length === 0)
      throw this.#refuse('The toolConfig field must be defined when using toolUse and toolResult content blocks.');
    const config = this.#inference(objectOf(inferenceConfig));
    const isGuarded = this.#isGuarded(guardrailConfig);
    const body = {
      ...this.#extra(),
      ...config,
      max_tokens: config.max_tokens ?? 4_096,
      messages: turns,
      system: this.#blocks(listOf(system), 'system'),
      ...(tools.length > 0 && { tools, tool_choice: this.#choice(objectOf(toolConfig).toolChoice, tools) }),
      ...this.#format(this.#json.outputConfig),
    };
    return { body, isGuarded };
  }

  #malformed(what: string): never {
    throw this.#refuse(`Malformed input request: ${what}, please reformat your input and try again.`);
  }

  #checkOptions(): void {
    const { requestMetadata, serviceTier, additionalModelResponseFieldPaths: paths } = this.#json;
    const metadata = Object.entries(objectOf(requestMetadata)).flat();
    if (metadata.length > 32 || metadata.some((text) => !METADATA.test(String(text))))
      this.#malformed('#/requestMetadata');
    if (serviceTier !== undefined && !TIERS.includes(textOf(objectOf(serviceTier).type)))
      this.#malformed('#/serviceTier');
    if (stringsOf(paths).some((path) => !path.startsWith('/'))) this.#malformed('#/additionalModelResponseFieldPaths');
  }

  #isGuarded(config: Json | undefined): boolean {
    if (config === undefined) return false;
    const { guardrailIdentifier: id, guardrailVersion: version, trace = 'disabled' } = objectOf(config);
    if (!['enabled', 'disabled', 'enabled_full'].includes(textOf(trace))) this.#malformed('#/guardrailConfig/trace');
    if (id !== GUARDRAIL.id || (version !== GUARDRAIL.version && version !== 'DRAFT'))
      throw this.#refuse('The guardrail identifier or version provided in the request does not exist.');
    return FORBIDDEN.test(JSON.stringify(this.#json.messages));
  }

  #inference({ maxTokens, temperature, topP, stopSequences, ...other }: JsonObject): JsonObject {
    if (Object.keys(other).length > 0) this.#malformed(`#/inferenceConfig: extraneous key [${Object.keys(other)[0]}]`);
    if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && Number(maxTokens) >= 1))
      this.#malformed('#/inferenceConfig/maxTokens');
    for (const value of [temperature, topP])
      if (value !== undefined && !(Number(value) >= 0 && Number(value) <= 1)) this.#malformed('#/inferenceConfig');
    return withoutUndefined({ max_tokens: maxTokens, temperature, top_p: topP, stop_sequences: stopSequences });
  }

  /** Anthropic's own fields, or those of Nova and of the open models. */
  #extra(): JsonObject {
    const extra = objectOf(this.#json.additionalModelRequestFields);
    const known = isNova(this.#model)
      ? ['inferenceConfig', 'reasoningConfig']
      : /gpt-oss/.test(this.#model)
        ? ['reasoning_effort']
        : ['thinking', 'top_k', 'output_config', 'anthropic_beta'];
    for (const name of Object.keys(extra))
      if (!known.includes(name)) this.#malformed(`#: extraneous key [${name}] is not permitted`);
    if (/gpt-oss/.test(this.#model)) return extra.reasoning_effort === undefined ? {} : THINKS;
    if (!isNova(this.#model)) return extra;
    return objectOf(extra.reasoningConfig).type === 'enabled' ? THINKS : {};
  }

  #format(config: Json | undefined): JsonObject {
    if (config === undefined) return {};
    const { type, structure } = objectOf(objectOf(config).textFormat);
    const { schema, name } = objectOf(objectOf(structure).jsonSchema);
    if (type !== 'json_schema' || typeof schema !== 'string' || textOf(name) === '') this.#malformed('#/outputConfig');
    return { output_config: { format: { type, schema: JSON.parse(textOf(schema)) } } };
  }

  // ---------------------------------------------------------------- tools

  #tools({ tools }: JsonObject): JsonObject[] {
    return listOf(tools).flatMap((tool): JsonObject[] => {
      const [kind, value] = this.#union(tool, 'toolConfig.tools');
      if (kind === 'cachePoint') {
        if (isNova(this.#model)) throw this.#refuse('Prompt caching is not supported for tools of this model.');
        return [];
      }
      const { name, description, inputSchema, strict, ...other } = objectOf(value);
      const schema = objectOf(objectOf(inputSchema).json);
      const isValid = kind === 'toolSpec' && NAME.test(textOf(name)) && schema.type === 'object';
      if (!isValid || description === '' || Object.keys(other).length > 0) this.#malformed('#/toolConfig/tools');
      return [withoutUndefined({ name, description, input_schema: schema, strict })];
    });
  }

  #choice(choice: Json | undefined, tools: readonly JsonObject[]): JsonObject {
    if (choice === undefined) return { type: 'auto' };
    const [kind, value] = this.#union(choice, 'toolConfig.toolChoice');
    if (!CHOICES.includes(kind)) this.#malformed('#/toolConfig/toolChoice');
    if (kind !== 'tool') return { type: kind };
    const { name } = objectOf(value);
    if (!tools.some((tool) => tool.name === name)) this.#malformed('#/toolConfig/toolChoice/tool/name');
    return { type: 'tool', name };
  }

  // ---------------------------------------------------------------- messages

  #messages(given: Json | undefined): JsonObject[] {
    const messages = objectsOf(given);
    if (messages[0]?.role !== 'user')
      throw this.#refuse('A conversation must start with a user message. Try again with a conversation that does.');
    return messages.map(({ role, content, ...other }, n) => {
      const isKnown = role === (n % 2 === 0 ? 'user' : 'assistant') && Object.keys(other).length === 0;
      if (!isKnown || !Array.isArray(content) || content.length === 0) this.#malformed(`#/messages/${n}`);
      const blocks = this.#blocks(content, 'messages');
      const kinds = content.map((block) => Object.keys(objectOf(block))[0]);
      if (kinds.includes('document') && !kinds.includes('text'))
        throw this.#refuse('You must include a text block with a document.');
      return { role, content: blocks };
    });
  }

  #blocks(content: readonly Json[], where: 'system' | 'messages' | 'toolResult'): JsonObject[] {
    const blocks: JsonObject[] = [];
    let before = '';
    for (const block of content) {
      const [kind, value] = this.#union(block, where);
      if (kind === 'cachePoint') this.#cache(objectOf(value), blocks, { where, before });
      else blocks.push(this.#block(kind, value, where));
      before = kind;
    }
    return blocks;
  }

  #cache({ type, ttl }: JsonObject, blocks: JsonObject[], place: { where: string; before: string }): void {
    const last = blocks.at(-1);
    const isValid = type === 'default' && (ttl === undefined || ttl === '5m' || ttl === '1h');
    if (!isValid || place.where === 'toolResult' || !last) return this.#malformed('#: cachePoint');
    if (place.before === 'document' || place.before === 'video' || place.before === 'cachePoint')
      throw this.#refuse('The cachePoint cannot follow this content block.');
    last.cache_control = withoutUndefined({ type: 'ephemeral', ttl });
  }

  #block(kind: string, value: Json | undefined, where: string): JsonObject {
    const members = objectOf(value);
    if (kind === 'text') {
      if (textOf(value).trim() === '') throw this.#refuse('The text field in the ContentBlock object is blank.');
      return { type: 'text', text: value };
    }
    if (where === 'system') return this.#malformed(`#/system: extraneous key [${kind}]`);
    if (kind === 'image') return { type: 'image', source: this.#source('image', members, IMAGES) };
    if (kind === 'video') return { type: 'image', source: this.#source('video', members, VIDEOS) };
    if (kind === 'document') return this.#document(members);
    if (kind === 'searchResult') return { type: 'text', text: JSON.stringify(members) };
    if (kind === 'json') return { type: 'text', text: JSON.stringify(value) };
    if (where === 'toolResult') return this.#malformed(`#: extraneous key [${kind}]`);
    if (kind === 'reasoningContent') return this.#reasoning(members);
    this.#hasCalls = true;
    const { toolUseId: id, name, input, content, status } = members;
    if (!NAME.test(textOf(id))) this.#malformed('#: toolUseId');
    if (kind === 'toolUse' && NAME.test(textOf(name)) && isObject(input)) return { type: 'tool_use', id, name, input };
    if (kind !== 'toolResult' || !Array.isArray(content) || ![undefined, 'success', 'error'].includes(status as string))
      return this.#malformed(`#: ${kind}`);
    const inner = this.#blocks(content, 'toolResult');
    return withoutUndefined({ type: 'tool_result', tool_use_id: id, content: inner, is_error: status === 'error' });
  }

  #source(type: string, { format, source, ...other }: JsonObject, formats: readonly string[]): JsonObject {
    const [kind, value] = this.#union(source, type);
    const isBytes = kind === 'bytes' && BASE64.test(textOf(value)) && value !== '';
    if (!isBytes || !formats.includes(textOf(format)) || Object.keys(other).length > 0) this.#malformed(`#: ${type}`);
    return { type: 'base64', media_type: `image/${textOf(format)}`, data: value };
  }

  #document({ name, context, citations, ...media }: JsonObject): JsonObject {
    if (!DOCUMENT_NAME.test(textOf(name))) throw this.#refuse('The document file name can only contain alphanumerics.');
    if (this.#documents.has(textOf(name))) throw this.#refuse('The document names must be unique.');
    this.#documents.add(textOf(name));
    if (citations !== undefined && typeof objectOf(citations).enabled !== 'boolean') this.#malformed('#: citations');
    void context;
    return { type: 'document', source: this.#source('document', media, DOCUMENTS) };
  }

  #reasoning(content: JsonObject): JsonObject {
    const [kind, value] = this.#union(content, 'reasoningContent');
    if (kind === 'redactedContent') return { type: 'redacted_thinking', data: fromBase64(textOf(value)) };
    const { text, signature } = objectOf(value);
    if (kind !== 'reasoningText' || typeof text !== 'string') this.#malformed('#: reasoningContent');
    return withoutUndefined({ type: 'thinking', thinking: text, signature });
  }

  /** The one member of a union. */
  #union(value: Json | undefined, where: string): readonly [string, Json | undefined] {
    const [entry, ...others] = Object.entries(objectOf(value));
    if (!entry || others.length > 0) return this.#malformed(`#: ${where} must have exactly one member`);
    return entry;
  }
}

const THINKS = { thinking: { type: 'adaptive' } } as const;
const isNova = (model: string): boolean => /\bnova-/.test(model);
const withoutUndefined = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString();

// ---------------------------------------------------------------- replies

const STOPS: Readonly<Record<string, string>> = { refusal: 'content_filtered', stop_sequence: 'stop_sequence' };

/** A whole reply of the Messages API. */
export function converseReply(message: JsonObject, isGuarded: boolean): JsonObject {
  const content = isGuarded ? [{ text: BLOCKED }] : objectsOf(message.content).map(replyBlock);
  return {
    output: { message: { role: 'assistant', content } },
    ...stopOf(message, isGuarded),
    ...metadataOf(message.usage, isGuarded),
  };
}

function replyBlock(block: JsonObject): JsonObject {
  const { type, text, thinking, signature, data, id, name, input } = block;
  if (type === 'text') return { text };
  if (type === 'thinking') return { reasoningContent: { reasoningText: { text: thinking, signature } } };
  if (type === 'redacted_thinking') return { reasoningContent: { redactedContent: base64(textOf(data)) } };
  return { toolUse: { toolUseId: id, name, input } };
}

const stopOf = ({ stop_reason, stop_sequence }: JsonObject, isGuarded: boolean): JsonObject => ({
  stopReason: isGuarded ? 'guardrail_intervened' : (STOPS[textOf(stop_reason)] ?? stop_reason),
  ...(typeof stop_sequence === 'string' && { additionalModelResponseFields: { stop_sequence } }),
});

function metadataOf(given: Json | undefined, isGuarded: boolean): JsonObject {
  const {
    input_tokens,
    output_tokens,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  } = objectOf(given);
  const counts = [input_tokens, output_tokens, read, written];
  const usage = {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    totalTokens: counts.reduce((sum: number, count) => sum + Number(count ?? 0), 0),
    cacheReadInputTokens: read,
    cacheWriteInputTokens: written,
    serverToolUsage: {},
  };
  return {
    ...(given !== undefined && given !== null && { usage: withoutUndefined(usage) }),
    metrics: { latencyMs: 7 },
    ...(isGuarded && { trace: { guardrail: { actionReason: 'simulated' } } }),
  };
}

/** The frames of one event of the Messages API. */
export function converseFrames(event: JsonObject, isGuarded: boolean): Buffer[] {
  const { type, index: contentBlockIndex = 0, delta, content_block: block, usage } = event;
  const frame = (name: string, payload: JsonObject): Buffer =>
    awsMessage({ ':event-type': name, ':message-type': 'event' }, { ...payload, p: 'abcdefghijk' });
  if (type === 'message_start') return [frame('messageStart', { role: 'assistant' })];
  if (type === 'message_delta') {
    const blocked = isGuarded
      ? [
          frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: BLOCKED } }),
          frame('contentBlockStop', { contentBlockIndex: 0 }),
        ]
      : [];
    return [
      ...blocked,
      frame('messageStop', stopOf(objectOf(delta), isGuarded)),
      frame('metadata', metadataOf(usage, isGuarded)),
    ];
  }
  if (type === 'error')
    return [awsMessage({ ':exception-type': 'modelStreamErrorException', ':message-type': 'exception' }, FAILED)];
  if (isGuarded) return [];
  if (type === 'content_block_stop') return [frame('contentBlockStop', { contentBlockIndex })];
  const { type: kind, id, name, data } = objectOf(block);
  if (kind === 'tool_use')
    return [frame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } })];
  const change =
    kind === 'redacted_thinking'
      ? { reasoningContent: { redactedContent: base64(textOf(data)) } }
      : deltaOf(objectOf(delta));
  return change ? [frame('contentBlockDelta', { contentBlockIndex, delta: change })] : [];
}

const FAILED = { message: 'The model failed (simulated).', originalStatusCode: 500 };

function deltaOf({ type, text, thinking, signature, partial_json: input }: JsonObject): JsonObject | undefined {
  if (type === 'text_delta') return { text };
  if (type === 'thinking_delta') return { reasoningContent: { text: thinking } };
  if (type === 'signature_delta') return { reasoningContent: { signature } };
  return type === 'input_json_delta' ? { toolUse: { input } } : undefined;
}
