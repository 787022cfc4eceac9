/** The API as OpenAPI 3.1, from the tables in rules/ only. */
import { ENDPOINTS, type EndpointRow, ERRORS, OPERATIONS } from '../rules/index.ts';

export function openApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    const row: EndpointRow = ENDPOINTS[operation];
    for (const path of row.alias ? [row.path, row.alias] : [row.path]) {
      paths[path] = { ...paths[path], [row.method.toLowerCase()]: describe(operation, row, path !== row.path) };
    }
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
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
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
  const names = [...row.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  return {
    operationId: isAlias ? `${operation}.root` : operation,
    summary: row.about,
    tags: [operation.split('.')[0]],
    ...(names.length > 0 && {
      parameters: names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    }),
    ...(row.body !== 'none' && {
      requestBody: { required: true, content: { [CONTENT[row.body]]: { schema: { type: 'object' } } } },
    }),
    responses: {
      '2XX': { description: 'Success' },
      default: {
        description: 'Failure',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
    ...('groups' in row && {
      'x-groups': Object.fromEntries(Object.entries(row.groups).map(([style, cell]) => [style, cell.kind])),
    }),
    'x-document': row.doc,
  };
}

const CONTENT = { json: 'application/json', multipart: 'multipart/form-data' } as const;
