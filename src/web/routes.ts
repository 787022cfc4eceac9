/** The endpoint tables as routes: for Fastify, and for saying which methods a path has when the one asked for is not among them. */
import {
  ENDPOINTS,
  type Envelope,
  type Method,
  OPERATIONS,
  OPERATOR_ENDPOINTS,
  type Operation,
  type OperatorOperation,
} from '../rules/index.ts';

export interface Route {
  readonly operation: Operation | OperatorOperation;
  readonly method: Method;
  /** As in the table: `/v1/models/{model}`. */
  readonly path: string;
  readonly envelope: Envelope;
}

export const ROUTES: readonly Route[] = [
  ...OPERATIONS.flatMap((operation): Route[] => {
    const row = ENDPOINTS[operation];
    const route = { operation, method: row.method, path: row.path, envelope: row.envelope };
    return 'alias' in row ? [route, { ...route, path: row.alias }] : [route];
  }),
  ...(Object.keys(OPERATOR_ENDPOINTS) as OperatorOperation[]).map(
    (operation): Route => ({ operation, ...OPERATOR_ENDPOINTS[operation], envelope: 'openai' }),
  ),
];

/** `{name}` as find-my-way writes it; `{model}:verb` needs a pattern that stops at the colon. */
export const fastifyPath = (path: string): string =>
  path.replace(/\{(\w+)\}:(\w+)/, ':$1(^[^:/]+)::$2').replaceAll(/\{(\w+)\}/g, ':$1');

const MATCHERS = ROUTES.map((route) => ({
  method: route.method,
  pattern: new RegExp(`^${route.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Methods that exist for a path, for the `allow` header of a 405. */
export const methodsOf = (path: string): Method[] => [
  ...new Set(MATCHERS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)),
];
