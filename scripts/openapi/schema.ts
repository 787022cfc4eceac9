/**
 * Schemas of the reference, as text in the notation of TypeScript types.
 *
 * `schemasOf` reads lines `Name: members`; lines that begin with a space go on. A member is `name: type`, or
 * `name?: type` if it is optional. Objects are open, because members that are not listed pass too; in a line that
 * begins with `closed` every member is known. A type is a word of `WORDS`, the name of another schema, `"a constant"`,
 * `<one of these>`, `{ members }`, a list `type[]`, or several with `|` between. Text in parentheses describes the type
 * before it; a quote in it stands for a backtick.
 */

export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

export const JSON_TYPE = 'application/json';
export const TEXT = { type: 'string' } as const;
export const INTEGER = { type: 'integer' } as const;
export const BYTES = { ...TEXT, format: 'binary' } as const;
/** Whatever the dialect, the provider or the configuration holds. */
const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;

const WORDS: Schemas = {
  string: TEXT,
  integer: INTEGER,
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  null: { type: 'null' },
  true: { const: true },
  any: {},
  object: ANY_OBJECT,
  seconds: { ...INTEGER, description: 'Unix time in seconds' },
  count: { ...INTEGER, minimum: 1 },
  time: { ...TEXT, format: 'date-time' },
  model: { ...TEXT, minLength: 1, description: 'name of a model that the key may use' },
  schema: { ...ANY_OBJECT, description: 'a JSON Schema' },
};

/** `more` has further words. */
export const schemasOf = (text: string, more: Schemas = {}): Schemas =>
  Object.fromEntries(
    text
      .trim()
      .split(/\n(?=\S)/)
      .map((line) => {
        const [, closed, name = '', members = ''] = /^(closed )?(\w+): (.*)$/s.exec(line) ?? [];
        return [name, new SchemaText(`{${members}}`, { ...WORDS, ...more }, closed === undefined).read()];
      }),
  );

/** One type; its objects are closed. */
export const schemaOf = (text: string): Schema => new SchemaText(text, WORDS, false).read();

const TOKENS = /\((?:[^()]|\([^()]*\))*\)|"[^"]*"|<[^>]*>|\[\]|[\w@]+|\S/g;

class SchemaText {
  readonly #tokens: string[];
  readonly #words: Schemas;
  readonly #isOpen: boolean;

  constructor(text: string, words: Schemas, isOpen: boolean) {
    this.#tokens = text.match(TOKENS) ?? [];
    this.#words = words;
    this.#isOpen = isOpen;
  }

  /** Throws on text that is not valid. */
  read(): Schema {
    const schema = this.#type();
    if (this.#tokens.length > 0) throw new TypeError(`Not a part of a schema: ${this.#tokens.join(' ')}`);
    return schema;
  }

  #type(): Schema {
    const choices = [this.#choice()];
    while (this.#takes('|')) choices.push(this.#choice());
    const schema = choices.length === 1 ? choices[0] : withNull({ anyOf: choices });
    if (!this.#tokens[0]?.startsWith('(')) return schema ?? {};
    return { ...schema, description: this.#token().slice(1, -1).replace(/\s+/g, ' ').replaceAll("'", '`') };
  }

  #choice(): Schema {
    let schema = this.#item(this.#token());
    while (this.#takes('[]')) schema = { type: 'array', items: schema };
    return schema;
  }

  #item(token: string): Schema {
    if (token === '{') return this.#object();
    if (token.startsWith('"')) return { const: token.slice(1, -1) };
    if (token.startsWith('<')) return { ...TEXT, enum: token.slice(1, -1).split(' ') };
    return this.#words[token] ?? ref(token);
  }

  #object(): Schema {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    while (!this.#takes('}')) {
      const name = this.#token();
      if (!this.#takes('?')) required.push(name);
      if (!this.#takes(':')) throw new TypeError(`A member without a type: ${name}`);
      properties[name] = this.#type();
      this.#takes(',');
    }
    return { type: 'object', properties, required, additionalProperties: this.#isOpen };
  }

  #token(): string {
    return this.#tokens.shift() ?? '';
  }

  #takes(token: string): boolean {
    return this.#tokens[0] === token && this.#tokens.shift() !== undefined;
  }
}

/** `anyOf` of a type and null, as a list of types. */
export function withNull({ anyOf, ...rest }: Schema): Schema {
  const [some, none, ...others] = (anyOf ?? []) as readonly Schema[];
  if (!some || none?.type !== 'null' || others.length > 0 || typeof some.type !== 'string')
    return anyOf === undefined ? rest : { ...rest, anyOf };
  const words = Array.isArray(some.enum) ? { enum: [...some.enum, null] } : {};
  return { ...some, ...rest, type: [some.type, 'null'], ...words };
}

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** The members of an object as parameters of a query. */
export function queryOf(object: Schema) {
  const { properties, required = [] } = object as { properties: Schemas; required?: readonly string[] };
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    description: String(description),
    schema,
  }));
}

/** A response with a body in JSON, whose type is in the notation. */
export const json = (description: string, type: string, example?: object): object => ({
  description,
  content: { [JSON_TYPE]: { schema: schemaOf(type), ...(example && { example }) } },
});
/** A response that may also be a stream of events. */
export const withStream = (response: object, example: string, description?: string): object => ({
  ...response,
  content: {
    ...('content' in response && (response.content as object)),
    'text/event-stream': { schema: { ...TEXT, ...(description && { description }) }, example },
  },
});
/** A response with a body of any other type. */
export const bytes = (description: string, type: string, schema: Schema = BYTES): object => ({
  description,
  content: { [type]: { schema } },
});
/** The responses that send a file, or the part of it that the client asks for. */
export const ranged = (description: string, type: string): Readonly<Record<string, object>> => ({
  200: bytes(description, type),
  206: bytes('The part that `Range` selects', type),
  416: { description: 'No byte is in the range; `Content-Range` has the size' },
});

/** Lists of these objects, in the list envelope (V 2). */
export const listsOf = (...names: readonly string[]): string =>
  names.map((name) => `closed ${name}List: object: "list", data: ${name}[], ${CURSORS}`).join('\n');
export const CURSORS = 'first_id: string | null, last_id: string | null, has_more: boolean';

/** A list of one object. */
export const listExample = (example: { readonly id: string }) => ({
  object: 'list',
  data: [example],
  first_id: example.id,
  last_id: example.id,
  has_more: false,
});
