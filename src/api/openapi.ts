/** The API as OpenAPI 3.1, from the tables in rules/ only. */
import {
  ADMIN_OPERATIONS,
  ADMIN_QUERY,
  type AdminRow,
  adminRow,
  ENDPOINTS,
  type EndpointRow,
  ERRORS,
  OPERATIONS,
} from '../rules/index.ts';

export function openApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    const row: EndpointRow = ENDPOINTS[operation];
    for (const path of row.alias ? [row.path, row.alias] : [row.path]) {
      paths[path] = { ...paths[path], [row.method.toLowerCase()]: describe(operation, row, path !== row.path) };
    }
  }
  for (const operation of ADMIN_OPERATIONS) {
    const row = adminRow(operation);
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: describeAdmin(operation, row) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Dragoman',
      version,
      description: 'Any client dialect on any provider group, and asynchronous video.',
    },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN; opens /admin/v1 only' },
      },
      schemas: {
        Error: {
          type: 'object',
          description: 'The shape follows the dialect of the path.',
          'x-codes': Object.keys(ERRORS),
        },
      },
    },
  };
}

function describe(operation: string, row: EndpointRow, isAlias: boolean): object {
  return {
    operationId: isAlias ? `${operation}.root` : operation,
    summary: row.about,
    tags: [operation.split('.')[0]],
    ...parametersOf(pathParameters(row.path)),
    ...(row.body !== 'none' && {
      requestBody: { required: true, content: { [CONTENT[row.body]]: { schema: { type: 'object' } } } },
    }),
    responses: RESPONSES,
    ...('groups' in row && {
      'x-groups': Object.fromEntries(Object.entries(row.groups).map(([style, cell]) => [style, cell.kind])),
    }),
    'x-document': row.doc,
  };
}

function describeAdmin(operation: string, row: AdminRow): object {
  const query = (row.query ?? []).map((name) => ({
    name,
    in: 'query',
    description: ADMIN_QUERY[name],
    schema: { type: 'string' },
  }));
  return {
    operationId: operation,
    summary: row.about,
    tags: ['admin'],
    security: [{ adminToken: [] }],
    ...parametersOf([...pathParameters(row.path), ...query]),
    ...(row.body && { requestBody: { required: true, content: { [CONTENT.json]: { schema: { type: 'object' } } } } }),
    responses: RESPONSES,
  };
}

const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

const parametersOf = (parameters: readonly object[]): object => (parameters.length > 0 ? { parameters } : {});

const RESPONSES = {
  '2XX': { description: 'Success' },
  default: {
    description: 'Failure',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  },
} as const;

const CONTENT = { json: 'application/json', multipart: 'multipart/form-data' } as const;
