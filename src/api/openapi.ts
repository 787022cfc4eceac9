/** The API as an OpenAPI 3.1 document, derived from the endpoint tables, the video rules and the zod schemas of the admin API. */
import { z } from 'zod';
import {
  ADMIN_OPERATIONS,
  type AdminOperation,
  type AdminRow,
  adminRow,
  ENDPOINTS,
  type EndpointRow,
  isOfferedVideo,
  OPERATIONS,
  type Operation,
} from '../rules/index.ts';
import { BODY_DESCRIPTIONS, type BodyDescription } from './openapi-bodies.ts';
import { ERROR_SCHEMA_NAMES, ERROR_SCHEMAS } from './openapi-errors.ts';
import { IMAGE_BODIES } from './openapi-images.ts';
import { describeVideo, VIDEO_SCHEMAS, type VideoDescription } from './openapi-video.ts';

interface AdminSchemas {
  readonly query: z.ZodObject;
  readonly body?: z.ZodType | undefined;
  readonly bodyTypes?: readonly string[] | undefined;
}

type JsonSchema = Readonly<Record<string, unknown>>;

export function openApi(version: string, adminSchemas: Readonly<Record<AdminOperation, AdminSchemas>>): object {
  const paths: Record<string, Record<string, object>> = {};
  const add = (path: string, method: string, description: object): void => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: description };
  };
  for (const operation of OPERATIONS) {
    const row: EndpointRow = ENDPOINTS[operation];
    add(row.path, row.method, describe(operation, row));
    if (row.alias)
      add(row.alias, row.method, { ...describe(operation, row), operationId: operation + aliasSuffix(row.alias) });
  }
  for (const operation of ADMIN_OPERATIONS) {
    const row = adminRow(operation);
    add(row.path, row.method, describeAdmin(operation, row, adminSchemas[operation]));
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
        key: { type: 'http', scheme: 'bearer', description: 'An API key' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN; accepted at /admin/v1 only' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'dragoman_session',
          description: 'The session of an operator in the console; changes also need the header x-csrf-token',
        },
      },
      schemas: { ...ERROR_SCHEMAS, ...VIDEO_SCHEMAS },
    },
  };
}

const aliasSuffix = (alias: string): string => (alias.startsWith('/v1/') ? '.v1' : '.root');

const describe = (operation: Operation, row: EndpointRow): object => {
  const video = isOfferedVideo(operation) ? describeVideo(operation) : undefined;
  return {
    operationId: operation,
    summary: row.about,
    tags: [operation.split('.')[0]],
    ...parametersOf([...pathParameters(row.path), ...(video?.parameters ?? [])]),
    ...(operation in BODY_DESCRIPTIONS && {
      requestBody: bodyOf(operation, BODY_DESCRIPTIONS[operation as keyof typeof BODY_DESCRIPTIONS], video),
    }),
    ...describeOutcome(row, video),
  };
};

const describeOutcome = (row: EndpointRow, video: VideoDescription | undefined): object => ({
  responses: video?.responses ?? responsesWith(ERROR_SCHEMA_NAMES[row.errorFormat]),
  ...('groups' in row && {
    'x-groups': Object.fromEntries(Object.entries(row.groups).map(([style, cell]) => [style, cell.kind])),
  }),
  ...('status' in row && { 'x-status': row.status }),
  'x-document': row.doc,
});

/** Bodies of dialects stay open objects: the gateway forwards fields that it does not know. */
function bodyOf(
  operation: Operation,
  { description, example, required = true }: BodyDescription,
  video: VideoDescription | undefined,
): object {
  const schema = video?.bodySchema ?? { type: 'object', additionalProperties: true };
  const content =
    operation in IMAGE_BODIES
      ? IMAGE_BODIES[operation as keyof typeof IMAGE_BODIES]
      : { [JSON_TYPE]: { schema, example } };
  return { required, description, content };
}

function describeAdmin(operation: AdminOperation, row: AdminRow, { query, body, bodyTypes }: AdminSchemas): object {
  const schema = body && jsonSchemaOf(body);
  return {
    operationId: operation,
    summary: row.about,
    tags: ['admin'],
    security: [{ adminToken: [] }, { session: [] }],
    ...parametersOf([...pathParameters(row.path), ...queryParameters(query)]),
    ...(schema && {
      requestBody: {
        required: 'required' in schema,
        content: Object.fromEntries((bodyTypes ?? [JSON_TYPE]).map((type) => [type, { schema }])),
      },
    }),
    responses: responsesWith(ERROR_SCHEMA_NAMES.openai),
  };
}

const JSON_TYPE = 'application/json';

/** Query parameters and their descriptions, as docs/endpoints.md lists them too. */
export const queryParameters = (query: z.ZodObject) =>
  Object.entries(jsonSchemaOf(query).properties as Record<string, JsonSchema>).map(
    ([name, { description, ...schema }]) => ({ name, in: 'query', description: String(description), schema }),
  );

/** `input`: as a client sends it, before zod transforms the values. */
function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...document } = z.toJSONSchema(schema, {
    io: 'input',
    // The formats date-time and email come with a long regular expression that adds nothing.
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return document;
}

const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

const parametersOf = (parameters: readonly object[]): object => (parameters.length > 0 ? { parameters } : {});

const responsesWith = (errorSchema: string): object => ({
  '2XX': { description: 'Success' },
  default: {
    description: 'Error',
    content: { [JSON_TYPE]: { schema: { $ref: `#/components/schemas/${errorSchema}` } } },
  },
});
