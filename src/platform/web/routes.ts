/**
 * Routing by the endpoint tables: the route of a request,
 * and the methods that a path allows (docs/adr/0007-no-web-framework.md).
 */
import * as rules from '../../rules/index.ts';
import type { AnyOperation } from './call.ts';

export interface Route {
  readonly operation: AnyOperation;
  readonly method: rules.Method | 'HEAD';
  /** Path pattern of the endpoint table: `/v1/models/{model}`. */
  readonly path: string;
  readonly errorFormat: rules.ErrorFormat;
  /** Headers of every response, errors included. */
  readonly headers?: Readonly<Record<string, string>>;
}

export const ROUTES: readonly Route[] = [
  ...rules.OPERATIONS.flatMap((operation): Route[] => {
    const row: rules.EndpointRow = rules.ENDPOINTS[operation];
    const route = { ...routeOf(operation, row), errorFormat: row.errorFormat };
    const routes = row.alias === undefined ? [route] : [route, { ...route, path: row.alias }];
    return hasHead(operation) ? routes.flatMap(withHead) : routes;
  }),
  ...rules.OPERATOR_OPERATIONS.flatMap((operation) => routesOf(operation, rules.operatorRow(operation))),
  ...rules.ADMIN_OPERATIONS.map((operation): Route => routeOf(operation, rules.adminRow(operation))),
  ...rules.CONSOLE_OPERATIONS.flatMap((operation) => routesOf(operation, rules.consoleRow(operation))),
];

interface RoutedRow {
  readonly method: rules.Method;
  readonly path: string;
  readonly headers?: Route['headers'];
  readonly deprecated?: rules.Deprecation;
}

function routeOf(operation: AnyOperation, { method, path, headers, deprecated }: RoutedRow): Route {
  const all = deprecated ? { ...headers, ...rules.deprecationHeaders(deprecated) } : headers;
  return { operation, method, path, errorFormat: rules.errorFormatOf(path), ...(all && { headers: all }) };
}

function routesOf(operation: AnyOperation, row: RoutedRow & { readonly head?: boolean }): Route[] {
  const route = routeOf(operation, row);
  return row.head ? withHead(route) : [route];
}

function withHead(route: Route): Route[] {
  return [route, { ...route, method: 'HEAD' }];
}

/**
 * Every GET that the gateway responds to by itself, whose length is known:
 * no WebSocket, and no response that a provider may stream but files.
 */
function hasHead(operation: rules.Operation): boolean {
  const row = rules.ENDPOINTS[operation];
  return row.method === 'GET' && !('turns' in row) && ('head' in row || !('reader' in row && row.reader !== 'none'));
}

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** Longer than any valid id or model name. */
const MAX_PARAM = 512;
const NO_PARAMS = {};

/** Routes without parameters. Most requests need only this lookup. */
const BY_METHOD_AND_PATH = new Map(
  ROUTES.filter(({ path }) => !path.includes('{')).map((route): [string, Match] => [
    `${route.method} ${route.path}`,
    { route, params: NO_PARAMS },
  ]),
);
const PATTERNS = ROUTES.map((route) => ({ route, pattern: pathPattern(route.path) }));
const WITH_PARAMS = PATTERNS.filter(({ route }) => route.path.includes('{'));

/** Undefined when no route matches or a parameter is invalid. Paths are case-sensitive; a trailing slash matters. */
export function matchRoute(method: string | undefined, path: string): Match | undefined {
  const exact = BY_METHOD_AND_PATH.get(`${method} ${path}`);
  if (exact) return exact;
  for (const { route, pattern } of WITH_PARAMS) {
    const found = route.method === method ? pattern.exec(path) : null;
    if (found) return readParams(route, found.groups ?? {});
  }
  return undefined;
}

function readParams(route: Route, raw: Readonly<Record<string, string>>): Match | undefined {
  const params: Record<string, string> = {};
  for (const [name, text] of Object.entries(raw)) {
    if (text.length > MAX_PARAM) return undefined;
    try {
      params[name] = decodeURIComponent(text);
    } catch {
      return undefined;
    }
  }
  return { route, params };
}

/** Methods that a path supports, for the `allow` header of a 405. */
export const methodsOf = (path: string): Route['method'][] => [
  ...new Set(PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route.method)),
];

/**
 * A parameter before `:verb` may hold colons, as names of models do, but no slash; `{file*}` takes the rest of the
 * path unless that is an API, others end at a slash.
 */
function pathPattern(path: string): RegExp {
  const pattern = path
    .replaceAll('.', '\\.')
    .replace(/\{(\w+)\*\}/, '(?<$1>(?!v\\d+(?:/|$)).*)')
    .replace(/\{(\w+)\}:/, '(?<$1>[^/]+):')
    .replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
  return new RegExp(`^${pattern}$`);
}
