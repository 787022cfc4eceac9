/**
 * The API as an OpenAPI 3.1 document, derived from the endpoint tables, the video rules and the zod schemas of our own
 * formats.
 */
import type { z } from 'zod';
import * as rules from '../../src/rules/index.ts';
import { ADMIN_SUCCESSES, type Successes } from './admin-responses.ts';
import { ERROR_SCHEMAS } from './errors.ts';
import { HEADER_COMPONENTS, withHeaders } from './headers.ts';
import { describeInference, type OperationDescription, securityOf } from './inference.ts';
import { INFERENCE_OBJECTS, INFERENCE_SCHEMAS } from './inference-schemas.ts';
import { type AdminRequestSchemas, describeAdmin } from './operators.ts';
import { CONSOLE_COMPONENTS, CONSOLE_SUCCESSES, type ConsoleSchemas, describeConsole } from './people.ts';
import { describeService, SERVICE_SCHEMAS } from './service.ts';
import { shareResponses } from './shared-responses.ts';
import { TAG_GROUPS, TAGS, tagOf } from './tags.ts';
import { describeVideo, VIDEO_OBJECTS, VIDEO_SCHEMAS } from './video.ts';
import { definitionsOf } from './zod.ts';

export interface DocumentOptions {
  readonly version: string;
  /** The address of the server; a document without one is relative to where it is read. */
  readonly serverUrl?: string;
  readonly admin: Readonly<Record<rules.AdminOperation, AdminRequestSchemas>>;
  readonly console: Readonly<Partial<Record<rules.ConsoleOperation, ConsoleSchemas>>>;
}

export function openApi({ version, serverUrl = '/', ...schemas }: DocumentOptions): object {
  const rows = describedRows(schemas).map((row) => ({
    ...row,
    responses: withHeaders(
      row.responses,
      ...(row.headerSets ?? []),
      ...(row.deprecated ? (['deprecated'] as const) : []),
    ),
  }));
  const { components, refer } = shareResponses(rows.map(({ responses }) => responses));
  return {
    openapi: '3.1.0',
    info: { title: 'Dragoman', version, description: ABOUT },
    servers: [{ url: serverUrl }],
    security: [{ key: [] }, { apiKeyHeader: [] }],
    tags: TAGS,
    'x-tagGroups': TAG_GROUPS,
    paths: paths(rows, refer),
    components: {
      securitySchemes: SECURITY,
      headers: HEADER_COMPONENTS,
      responses: components,
      schemas: {
        ...ERROR_SCHEMAS,
        ...INFERENCE_SCHEMAS,
        ...VIDEO_SCHEMAS,
        ...CONSOLE_COMPONENTS,
        ...SERVICE_SCHEMAS,
        ...definitionsOf(ownFormats(schemas)),
      },
    },
  };
}

const ownFormats = ({ admin }: Pick<DocumentOptions, 'admin'>): z.ZodType[] => [
  ...INFERENCE_OBJECTS,
  ...VIDEO_OBJECTS,
  ...Object.values(admin).flatMap(({ body }) => body ?? []),
  ...[...Object.values(ADMIN_SUCCESSES), ...Object.values(CONSOLE_SUCCESSES)]
    .flatMap((successes: Successes) => Object.values(successes))
    .map(({ body }) => body),
];

const describedRows = ({ admin, console }: Pick<DocumentOptions, 'admin' | 'console'>): DescribedRow[] => [
  ...rules.OPERATIONS.flatMap(callerOperations),
  ...rules.ADMIN_OPERATIONS.map((operation) => ({
    ...rules.adminRow(operation),
    id: operation,
    security: [{ adminToken: [] }, { session: [] }],
    ...describeAdmin(operation, admin[operation]),
  })),
  ...rules.CONSOLE_OPERATIONS.map((operation) => ({
    ...rules.consoleRow(operation),
    id: operation,
    security: rules.consoleRow(operation).access === 'open' ? [] : [{ session: [] }],
    ...describeConsole(operation, console[operation]),
  })),
  ...rules.OPERATOR_OPERATIONS.map((operation) => ({
    ...rules.operatorRow(operation),
    id: operation,
    security: operation === 'operator.metrics' ? [{}, { metricsToken: [] }] : [],
    ...describeService(operation),
  })),
];

const ABOUT = `Any client dialect on any provider group, and asynchronous video.

Send an API key as \`Authorization: Bearer\`. Every response has \`x-request-id\`. Errors have the format of the dialect of their path and
a stable \`code\`; \`retry-after\` says when a retry can succeed.

Money is exact decimal text in dollars. New fields may be added to responses at any time; an operation that will end is marked as
deprecated here and sends the headers \`Deprecation\` and \`Sunset\`.`;

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description });
const named = (where: 'header' | 'cookie', name: string, description: string) => ({
  type: 'apiKey',
  in: where,
  name,
  description,
});

const SECURITY = {
  key: bearer('An API key'),
  apiKeyHeader: named('header', 'x-api-key', 'An API key, as SDKs of the messages dialect send it'),
  googApiKey: named(
    'header',
    'x-goog-api-key',
    'An API key, as SDKs of the generate-content family send it; the query parameter `key` works too',
  ),
  adminToken: bearer('ADMIN_TOKEN; accepted at /admin/v1 only'),
  metricsToken: bearer('METRICS_TOKEN, where it is set'),
  session: named(
    'cookie',
    'dragoman_session',
    'The session of a person in the console; changes also need the header x-csrf-token',
  ),
};

interface DescribedRow extends OperationDescription, rules.OperatorRow {
  readonly id: string;
  readonly security: readonly object[];
  /** Members that begin with `x-`. */
  readonly extensions?: object;
}

/** An operation, and its alias as an operation of its own. */
function callerOperations(operation: rules.Operation): DescribedRow[] {
  const row: rules.EndpointRow = rules.ENDPOINTS[operation];
  const described: DescribedRow = {
    ...row,
    id: operation,
    security: securityOf(row.path),
    extensions: extensionsOf(row),
    ...(rules.isOfferedVideo(operation) ? describeVideo(operation) : describeInference(operation as InferenceName)),
  };
  if (row.alias === undefined) return [described];
  const suffix = row.alias.startsWith('/v1/') ? '.v1' : '.root';
  const about = `${row.about}, at its other path`;
  return [described, { ...described, id: operation + suffix, path: row.alias, about, security: securityOf(row.alias) }];
}

type InferenceName = Parameters<typeof describeInference>[0];

const extensionsOf = (row: rules.EndpointRow): object => ({
  ...('groups' in row && {
    'x-groups': Object.fromEntries(Object.entries(row.groups).map(([style, cell]) => [style, cell.kind])),
  }),
  ...('status' in row && { 'x-status': row.status }),
  'x-document': row.doc,
});

type Refer = ReturnType<typeof shareResponses>['refer'];

function paths(rows: readonly DescribedRow[], refer: Refer): Record<string, Record<string, object>> {
  const all: Record<string, Record<string, object>> = {};
  for (const row of rows) {
    // A rest of a path is a parameter like any other here.
    const path = row.path.replace('*}', '}');
    all[path] = { ...all[path], [row.method.toLowerCase()]: operationObject(row, path, refer) };
  }
  return all;
}

function operationObject(row: DescribedRow, path: string, refer: Refer): object {
  const { id, about, deprecated, security, extensions, parameters, requestBody, responses } = row;
  const all = [...pathParameters(path, id), ...parameters];
  return {
    operationId: id,
    summary: about,
    ...(deprecated && { deprecated: true, description: `May end on ${deprecated.sunset}. ${deprecated.instead}` }),
    tags: [tagOf(id)],
    security,
    ...(all.length > 0 && { parameters: all }),
    ...(requestBody && { requestBody }),
    responses: refer(responses),
    ...extensions,
  };
}

const pathParameters = (path: string, id: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...(match[1] === 'model' && { example: modelExample(id) }),
  }));

/** A model of the demo. */
function modelExample(id: string): string {
  if (/embed/i.test(id)) return 'demo-embedding';
  return id.startsWith('generate.') ? 'demo-generate' : 'demo-messages';
}
