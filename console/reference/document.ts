/** The parts of openapi.json that the reference shows. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly unknown[];
}

interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly description?: string;
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Content>>;
  };
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-groups'?: Readonly<Record<string, string>>;
}

export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly 'x-tagGroups': readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

export interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

const METHODS = new Set(['get', 'post', 'put', 'patch', 'delete', 'head']);

export const endpointsOf = ({ paths }: Document): Endpoint[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

export const nameOf = (ref: string): string => ref.split('/').at(-1) ?? '';

export const responseOf = ({ components }: Document, response: Response): Response =>
  response.$ref === undefined ? response : (components.responses[nameOf(response.$ref)] ?? response);

/** A value of the schema, for the body of a request: its required members, and those that have an example. */
export function sampleOf(document: Document, schema: Schema, depth = 0): unknown {
  if (schema.$ref !== undefined)
    return depth > MAX_DEPTH
      ? {}
      : sampleOf(document, document.components.schemas[nameOf(schema.$ref)] ?? {}, depth + 1);
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.const !== undefined || schema.default !== undefined) return schema.const ?? schema.default;
  if (schema.enum) return schema.enum[0];
  const choice = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (choice?.[0]) return sampleOf(document, choice[0], depth);
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  if (type === 'array') return schema.items && depth <= MAX_DEPTH ? [sampleOf(document, schema.items, depth + 1)] : [];
  if (type === 'object' || schema.properties)
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(([name, member]) => schema.required?.includes(name) || member.examples !== undefined)
        .map(([name, member]) => [name, sampleOf(document, member, depth + 1)]),
    );
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  return type === 'boolean' ? true : 'text';
}
const MAX_DEPTH = 3;
