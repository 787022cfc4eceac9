/**
 * Every field of the SDKs' request types, each in a request that is minimal apart from it: every property path, every member of a
 * union, every value of an enumeration, lists by one element. A type does not occur twice on a path, so that recursion ends.
 */
import type { Dialect } from '../../src/rules/index.ts';
import type { JsonSchema } from '../support/json-schema.ts';
import { resolverOf, sdkSchemas } from '../support/sdk-schemas.ts';

export type Json = Record<string, unknown>;

export interface FieldCase {
  /** Names from the body on, with the members of unions: `messages.content(image).source(base64).data`. */
  readonly label: string;
  /** The same without the members of unions, which is the form of `x-gateway-dropped`. */
  readonly path: string;
  readonly body: Json;
  /** The same request without the field, or with another value if the type requires the field. */
  readonly other: Json;
  readonly value: unknown;
}

/** Types nest no deeper than this; the bound only guards against a schema that does. */
const MAX_DEPTH = 24;

const fieldsOf = new Map<Dialect, readonly FieldCase[]>();

export function requestFields(dialect: Dialect): readonly FieldCase[] {
  const fields = fieldsOf.get(dialect) ?? walkRequest(dialect);
  fieldsOf.set(dialect, fields);
  return fields;
}

function walkRequest(dialect: Dialect): readonly FieldCase[] {
  const walk = new Walk(dialect);
  walk.object(walk.plain(sdkSchemas(dialect).request), {
    label: '',
    path: '',
    types: [],
    place: (members) => placeIn(dialect, members as Json),
    base: {},
  });
  return walk.cases;
}

interface Position {
  readonly label: string;
  readonly path: string;
  /** Named types on the way here. */
  readonly types: readonly string[];
  /** Puts a value here into a complete request. */
  place(value: unknown): Json;
  /** The object without the field that is walked; empty at the top. */
  readonly base: Json;
}

type ObjectSchema = Readonly<Record<string, unknown>>;

class Walk {
  readonly cases: FieldCase[] = [];
  readonly #resolve: (ref: string) => JsonSchema;

  constructor(dialect: Dialect) {
    this.#resolve = resolverOf(dialect);
  }

  plain(schema: JsonSchema): ObjectSchema {
    let current = schema;
    while (typeof current === 'object' && typeof current.$ref === 'string') current = this.#resolve(current.$ref);
    return typeof current === 'object' ? current : {};
  }

  object(schema: ObjectSchema, at: Position): void {
    const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
    const required = (schema.required ?? []) as readonly string[];
    for (const [name, member] of Object.entries(properties)) {
      const minimal = at.path === '' ? {} : (this.#minimalal(schema, at.path) as Json);
      const { [name]: _, ...base } = completed(at.path, minimal, name);
      const inner: Position = {
        label: at.label ? `${at.label}.${name}` : name,
        path: at.path ? `${at.path}.${name}` : name,
        types: at.types,
        place: (value) => at.place(value === undefined ? base : { ...base, [name]: value }),
        base,
      };
      this.#member(member, inner, required.includes(name));
    }
  }

  #member(schema: JsonSchema, at: Position, isRequired: boolean): void {
    const types = typeof schema === 'object' && typeof schema.$ref === 'string' ? [...at.types, schema.$ref] : at.types;
    if (at.types.length > MAX_DEPTH || new Set(types).size < types.length) return;
    const form = this.plain(schema);
    const inner = { ...at, types };
    if (Array.isArray(form.anyOf)) this.#union(form.anyOf as JsonSchema[], inner, isRequired);
    else if (Array.isArray(form.enum)) this.#values(form.enum, inner, isRequired);
    else if (form.type === 'array') this.#list(form, inner, isRequired);
    else if (form.properties) this.#nested(form, inner, isRequired);
    else if ('const' in form) {
      // The members of a union are named by it; alone it has one value, which the request needs.
    } else this.#leaf(form, inner, isRequired);
  }

  #union(parts: readonly JsonSchema[], at: Position, isRequired: boolean): void {
    const members = parts.filter((part) => this.plain(part).type !== 'null');
    for (const part of members)
      this.#member(part, members.length > 1 ? { ...at, label: `${at.label}(${this.#nameOf(part)})` } : at, isRequired);
  }

  #nameOf(schema: JsonSchema): string {
    const form = this.plain(schema);
    const properties = (form.properties ?? {}) as Record<string, { const?: unknown }>;
    const named = properties.type?.const ?? properties.role?.const ?? form.const;
    if (named !== undefined) return String(named);
    if (typeof schema === 'object' && typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1) ?? '';
    return String(form.type ?? 'any');
  }

  #values(values: readonly unknown[], at: Position, isRequired: boolean): void {
    const given = values.filter((value) => value !== null);
    for (const value of given) {
      const another = isRequired ? given.find((one) => one !== value) : undefined;
      this.#add({ ...at, label: `${at.label}=${value}` }, value, another);
    }
  }

  #list(form: ObjectSchema, at: Position, isRequired: boolean): void {
    const items = (form.items ?? {}) as JsonSchema;
    this.#member(items, { ...at, place: (value) => at.place(value === undefined ? undefined : [value]) }, isRequired);
  }

  #nested(form: ObjectSchema, at: Position, isRequired: boolean): void {
    const minimal = this.#minimalal(form, at.path) as Json;
    // An object without members says nothing.
    if (!isRequired && Object.keys(minimal).length > 0) this.#add(at, completed(at.path, minimal, ''), undefined);
    this.object(form, at);
  }

  #leaf(form: ObjectSchema, at: Position, isRequired: boolean): void {
    const value = this.#minimalal(form, at.path);
    const another = isRequired ? anotherValue(value) : undefined;
    this.#add(at, value, another);
    if ([form.type].flat().includes('boolean'))
      this.#add({ ...at, label: `${at.label}=false` }, false, isRequired ? true : undefined);
  }

  #add({ label, path, place }: Position, value: unknown, another: unknown): void {
    const own = typeof value === 'string' ? value.replace(MARK, OWN_MARK) : value;
    const [body, other] = [place(own), place(another)];
    // A value that the rest of the request depends on, such as the id of a call, has no other.
    if (JSON.stringify(body) === JSON.stringify(other)) return;
    this.cases.push({ label, path, value: own, body, other });
  }

  /** The smallest value of the type; objects have their required members only. */
  #minimalal(schema: JsonSchema, path: string, depth = 0): unknown {
    const form = this.plain(schema);
    const example = exampleOf(path);
    if (form.type === 'array')
      return depth > 6 ? [] : [this.#minimalal((form.items ?? {}) as JsonSchema, path, depth + 1)];
    if (example !== undefined && !Array.isArray(form.anyOf)) return example;
    if ('const' in form) return form.const;
    if (Array.isArray(form.enum)) return form.enum[0];
    if (Array.isArray(form.anyOf)) return this.#minimalOf(form.anyOf as JsonSchema[], path, depth);
    if (form.type === 'boolean') return true;
    if (form.type === 'number' || form.type === 'integer') return 1;
    if (form.type === 'string' || (Array.isArray(form.type) && form.type.includes('string'))) return textFor(path);
    if (Array.isArray(form.type)) return form.type.includes('boolean') ? true : 1;
    if (!form.properties) return { [MARK]: MARK };
    const members = ((form.required ?? []) as string[]).map((name) => [
      name,
      this.#minimalal((form.properties as Record<string, JsonSchema>)[name] ?? {}, `${path}.${name}`, depth + 1),
    ]);
    return Object.fromEntries(members) as Json;
  }

  /** A text if the union allows one, else its first member. */
  #minimalOf(parts: readonly JsonSchema[], path: string, depth: number): unknown {
    const members = parts.filter((part) => this.plain(part).type !== 'null');
    const text = members.find((part) => this.plain(part).type === 'string' && !('const' in this.plain(part)));
    return this.#minimalal(text ?? members[0] ?? {}, path, depth);
  }
}

const anotherValue = (value: unknown): unknown =>
  typeof value === 'string' ? value.replace(MARK, 'other') : typeof value === 'number' ? value + 1 : value === false;

// ---------------------------------------------------------------- values

/** Part of every text that a case sets. It is valid as a name, an id, Base64 and a part of a URL. */
const MARK = 'markmark';
/** Takes its place in the field that the case is about. */
const OWN_MARK = 'ownowned';

const textFor = (path: string): string => exampleText(path) ?? MARK;

const CALL = 'call_1';
const SCHEMA = { type: 'object', properties: { [MARK]: { type: 'string' } } };

/** Values for members whose type does not say what is valid, by the end of their path. */
const PICTURE = 'https://example.com/a.png';
const PDF = 'data:application/pdf;base64,JVBERi0xLjQK';

/** Members that a valid object needs although its type does not require them. */
const NEEDED: readonly { readonly if: (object: Json) => boolean; readonly members: Json }[] = [
  { if: ({ type }) => type === 'input_image', members: { image_url: PICTURE } },
  { if: ({ type }) => type === 'input_file', members: { filename: 'a.pdf', file_data: PDF } },
  { if: ({ type }) => /^(?:function|local_shell)_call_output$/.test(String(type)), members: { call_id: CALL } },
  { if: ({ type }) => type === 'mcp', members: { require_approval: 'never' } },
  { if: ({ type }) => type === 'tool_search_output', members: { execution: 'client' } },
  { if: ({ type }) => type === 'tool_result', members: { content: 'Found.' } },
  { if: ({ role }) => role === 'system', members: { content: 'Be brief.' } },
];

function completed(path: string, object: Json, field: string): Json {
  // A summary is shown only if the model reasons.
  if (path === 'reasoning') return { effort: 'high', ...object };
  const needed = NEEDED.find((row) => row.if(object))?.members ?? {};
  // A file id and data exclude each other.
  return /^file_(?:id|url)$/.test(field) ? object : { ...needed, ...object };
}

const EXAMPLES: readonly (readonly [RegExp, unknown])[] = [
  [/(?:^|\.)(?:parameters|input_schema|schema|output_schema)$/, SCHEMA],
  [/\.(?:tool_use_id|tool_call_id|call_id)$/, CALL],
  [/content\.file$/, { filename: 'a.pdf', file_data: PDF }],
  [/allowed_tools\.tools$/, { type: 'function', function: { name: 'find' } }],
  [/^tool_choice\.tools$/, { type: 'function', name: 'find' }],
  [/budget_tokens$/, 2_000],
  [/^max_(?:output_|completion_)?tokens$/, 3_000],
  [/(?:^|\.)(?:top_p|temperature|score)$/, 0.3],
  [/^top_logprobs$/, 2],
  [/^(?:n|seed)$/, 2],
  [/^tool_choice\..*name$/, 'find'],
  [/^function_call\.name$/, 'find'],
  [/logit_bias$/, { 50256: -100 }],
  [/media_type$/, 'image/png'],
  [/(?:^|\.)(?:arguments)$/, `{"${MARK}":1}`],
  [/(?:\.|_)(?:max_tokens|compact_threshold|value|total)$/, 60_000],
];
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|[._])(?:url|source|uri|file_url|image_url|server_url|fileUri)$/, `https://example.com/${MARK}`],
  [/file_data$/, `data:application/pdf;base64,${MARK}`],
];
const exampleOf = (path: string): unknown => EXAMPLES.find(([end]) => end.test(path))?.[1];
const exampleText = (path: string): string | undefined => TEXTS.find(([end]) => end.test(path))?.[1];

// ---------------------------------------------------------------- requests

const TOOLS: Readonly<Record<'messages' | 'chat' | 'responses', Json>> = {
  messages: { name: 'find', input_schema: { type: 'object', properties: {} } },
  chat: { type: 'function', function: { name: 'find', parameters: { type: 'object', properties: {} } } },
  responses: { type: 'function', name: 'find', parameters: { type: 'object', properties: {} }, strict: false },
};
const GO_ON = { role: 'user', content: 'Go on.' };
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Completes the members to a request that is valid: a conversation around the message, and a call that a result belongs to. */
function placeIn(dialect: Dialect, members: Json): Json {
  const { messages, input, tools, tool_choice, ...rest } = members;
  const choice = tool_choice === undefined ? {} : { tool_choice };
  if (dialect === 'messages')
    return {
      max_tokens: 4_000,
      ...rest,
      ...choice,
      model: 'm',
      messages: [
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: CALL, name: 'find', input: {} }] },
        ...asList(messages),
        ...(roleOf(asList(messages).at(-1)) === 'user' ? [] : [GO_ON]),
      ],
      tools: [TOOLS.messages, ...asList(tools)],
    };
  if (dialect === 'chat')
    return {
      ...rest,
      ...choice,
      model: 'm',
      messages: [
        GO_ON,
        {
          role: 'assistant',
          tool_calls: [{ id: CALL, type: 'function', function: { name: 'find', arguments: '{}' } }],
        },
        ...(roleOf(asList(messages).at(-1)) === 'function'
          ? [{ role: 'assistant', function_call: { name: 'find', arguments: '{}' } }]
          : []),
        ...asList(messages),
        ...(roleOf(asList(messages).at(-1)) === 'user' ? [] : [GO_ON]),
      ],
      tools: [TOOLS.chat, ...asList(tools)],
    };
  return {
    ...rest,
    ...choice,
    model: 'm',
    input:
      typeof input === 'string'
        ? input
        : [
            GO_ON,
            { type: 'function_call', call_id: CALL, name: 'find', arguments: '{}' },
            ...asList(input),
            ...(roleOf(asList(input).at(-1)) === 'user' ? [] : [GO_ON]),
          ],
    tools: [TOOLS.responses, ...asList(tools)],
  };
}

const roleOf = (message: unknown): unknown => (message as { role?: unknown } | undefined)?.role;
