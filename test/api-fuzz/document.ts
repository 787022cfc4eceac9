/** openapi.json as the fuzz test reads it: operations by name, and whether a response is one that its operation describes. */
import { type JsonSchema, violations } from '../support/json-schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly example?: string;
}
interface Content {
  readonly schema: JsonSchema;
  readonly example?: unknown;
}
interface ResponseObject {
  readonly content?: Readonly<Record<string, Content>>;
  readonly headers?: Readonly<Record<string, unknown>>;
}
export interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}

export interface ListedOperation extends DescribedOperation {
  readonly method: string;
  readonly path: string;
}

export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly headers: Headers;
  readonly text: string;
}

export class ApiDocument {
  readonly #document: Document;
  readonly operations: readonly ListedOperation[];

  constructor(document: unknown) {
    this.#document = document as Document;
    this.operations = Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
  }

  resolve = (ref: string): JsonSchema => this.#document.components.schemas[ref.split('/').at(-1) ?? ''] ?? false;

  /** What is wrong with the response; undefined when it is described. */
  problemOf({ responses }: DescribedOperation, { status, type, headers, text }: Answer): string | undefined {
    const found = responses[status] ?? responses[`${Math.floor(status / 100)}XX`] ?? responses.default;
    if (!found) return `status ${status} is not described`;
    const response = '$ref' in found ? this.#document.components.responses[found.$ref.split('/').at(-1) ?? ''] : found;
    if (!headers.has('x-request-id')) return 'x-request-id is missing';
    const { content } = response ?? {};
    if (!content) return text === '' ? undefined : `a body is not described for ${status}`;
    const mediaType = (type ?? '').split(';')[0]?.trim() ?? '';
    const described = Object.entries(content).find(([pattern]) => matches(pattern, mediaType))?.[1];
    if (!described) return `the type ${type} is not described for ${status}`;
    if (mediaType !== 'application/json') return undefined;
    const lines = violations(described.schema, JSON.parse(text), this.resolve);
    return lines.length === 0 ? undefined : lines.slice(0, 5).join('; ');
  }
}

const matches = (pattern: string, type: string): boolean =>
  pattern === type || pattern === '*/*' || (pattern.endsWith('/*') && type.startsWith(pattern.slice(0, -1)));
