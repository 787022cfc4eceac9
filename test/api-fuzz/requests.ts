/** Requests of an operation: its examples, values of its schemas, and damaged ones. */
import fc from 'fast-check';
import type { ApiDocument, ListedOperation, Parameter } from './document.ts';
import { damaged, sampleOf } from './values.ts';

export interface FuzzRequest {
  readonly method: string;
  /** With the query. */
  readonly target: string;
  /** Those that the operation requires with a fixed value. */
  readonly headers: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly body?: string;
}

/** By the name of the path parameter, or by that and the family of the operation: `interactions.response_id`. */
export type Ids = Readonly<Record<string, readonly string[]>>;

const idsFor = ({ operationId }: ListedOperation, name: string, ids: Ids): readonly string[] | undefined =>
  ids[`${operationId.split('.')[0]}.${name}`] ?? ids[name];

const headersOf = ({ parameters = [] }: ListedOperation): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'header' && parameter.required)
      .flatMap(({ name, schema }) => {
        const { enum: [value] = [] } = schema as { readonly enum?: readonly string[] };
        return value === undefined ? [] : [[name, value]];
      }),
  );

const JSON_TYPE = 'application/json';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
const ODD_SEGMENTS = [
  'x',
  '%00',
  '%ff',
  '%F0%9F%90%89',
  '..',
  '%2e%2e',
  '__proto__',
  'a:b',
  'a%2Fb',
  "'--",
  'k'.repeat(600),
  '%ED%A0%80',
] as const;
const ODD_VALUES = [
  '',
  'x',
  '-1',
  '0',
  '1e9',
  '99999999999999999999',
  '%00',
  '%ff',
  'a,b',
  'NaN',
  '2030-02-31',
  'true',
];

const TYPES = [JSON_TYPE, 'application/json; charset=utf-8', 'text/plain', 'multipart/form-data; boundary=x', ''];

/** The request of the reference: the example with existing objects, and no query. */
export function exampleRequests(operation: ListedOperation, ids: Ids): FuzzRequest[] {
  const target = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const described = operation.parameters?.find((parameter) => parameter.name === name);
    return described?.example ?? idsFor(operation, name, ids)?.[0] ?? 'x';
  });
  const content = operation.requestBody?.content[JSON_TYPE];
  const request = {
    method: operation.method,
    target: withGuards(operation, target, ''),
    headers: headersOf(operation),
  };
  if (!operation.requestBody) return [request];
  if (content?.example === undefined) return [];
  return [{ ...request, type: JSON_TYPE, body: JSON.stringify(content.example) }];
}

export function requestsOf(operation: ListedOperation, document: ApiDocument, ids: Ids): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      method: often(92, fc.constant(operation.method), fc.constantFrom(...METHODS)),
      path: pathOf(operation, ids),
      query: queryOf(operation, document),
      content: bodyOf(operation, document),
    })
    .map(({ method, path, query, content }) => ({
      method,
      target: withGuards(operation, path, query),
      headers: headersOf(operation),
      ...(method !== 'GET' && method !== 'HEAD' && content),
    }));
}

const often = <T>(percent: number, one: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: percent, arbitrary: one }, { weight: 100 - percent, arbitrary: other });

function pathOf(operation: ListedOperation, ids: Ids): fc.Arbitrary<string> {
  const { path } = operation;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const segments = names.map((name) =>
    often(70, fc.constantFrom(...(idsFor(operation, name, ids) ?? ['unknown'])), fc.constantFrom(...ODD_SEGMENTS)),
  );
  return fc.tuple(...segments).map((values) => {
    let n = 0;
    return path.replaceAll(/\{\w+\}/g, () => values[n++] ?? '');
  });
}

function queryOf({ parameters = [] }: ListedOperation, document: ApiDocument): fc.Arbitrary<string> {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const pair = (parameter: Parameter): fc.Arbitrary<string> =>
    often(
      60,
      sampleOf(parameter.schema, document.resolve).map((value) => encodeURIComponent(String(value).toWellFormed())),
      fc.constantFrom(...ODD_VALUES),
    ).map((value) => `${parameter.name}=${value}`);
  const pairs = known.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...known.map(pair)), { maxLength: 3 });
  return fc
    .tuple(pairs, often<readonly string[]>(90, fc.constant([]), fc.constantFrom(['unknown=1'], ['%zz'], ['a[b]=c'])))
    .map((all) => {
      const text = all.flat().join('&');
      return text === '' ? '' : `?${text}`;
    });
}

interface Sent {
  readonly type?: string;
  readonly body?: string;
}

function bodyOf({ requestBody, method }: ListedOperation, document: ApiDocument): fc.Arbitrary<Sent> {
  const content = requestBody?.content[JSON_TYPE];
  if (!content)
    return often(95, fc.constant({}), fc.constant(method === 'GET' ? {} : { type: JSON_TYPE, body: '{"a":1}' }));
  const { example, schema } = content;
  const value =
    example === undefined
      ? sampleOf(schema, document.resolve)
      : often(40, fc.constant(example), sampleOf(schema, document.resolve));
  return fc
    .tuple(
      value.chain((one) => often(30, fc.constant(JSON.stringify(one)), damaged(one))),
      often(95, fc.constant(JSON_TYPE), fc.constantFrom(...TYPES)),
      often(99, fc.constant(false), fc.constant(true)),
    )
    .map(([body, type, isHuge]) => ({ type, body: isHuge ? `{"a":"${'x'.repeat(1_200_000)}"}` : body }));
}

/**
 * Keeps requests from hanging or from destroying what others need: a read returns at once, and configurations and prices are only tried. A
 * repeated parameter would be an error, so that it takes the place of the given ones.
 */
function withGuards({ operationId }: ListedOperation, path: string, query: string): string {
  if (operationId === 'admin.applyConfig' || operationId === 'admin.importPrices') return `${path}?dry_run=true`;
  return path + query.replace(/([?&]wait)=\d+/g, '$1=0');
}
