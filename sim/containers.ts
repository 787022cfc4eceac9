/** Containers of the OpenAI-style provider, in which code has run. Each is always there, with one file. */
import type { Exchange } from './exchange.ts';
import type { JsonObject } from './json.ts';

const MADE_AT = 1_767_225_600;
const FILE = 'cfile_1';
const TABLE = 'lamp;12\n';

export const readContainer = (exchange: Exchange, id: string): Promise<void> =>
  exchange.sendJson({
    id,
    object: 'container',
    created_at: MADE_AT,
    status: 'running',
    expires_after: { anchor: 'last_active_at', minutes: 20 },
    last_active_at: MADE_AT,
    memory_limit: '1g',
    name: 'auto',
  });

export const deleteContainer = (exchange: Exchange, id: string): Promise<void> =>
  exchange.sendJson({ id, object: 'container.deleted', deleted: true });

export const listContainerFiles = (exchange: Exchange, id: string): Promise<void> =>
  exchange.sendJson({
    object: 'list',
    data: [fileIn(id, FILE)],
    first_id: FILE,
    last_id: FILE,
    has_more: false,
  });

export const sendContainerFile = (exchange: Exchange): Promise<void> => exchange.sendText(200, 'text/csv', TABLE);

/** `path`: the ids of the container and of the file. */
export function readContainerFile(exchange: Exchange, path: string): Promise<void> {
  const [container = '', file = ''] = path.split('/files/');
  return exchange.sendJson(fileIn(container, file));
}

const fileIn = (container: string, id: string): JsonObject => ({
  id,
  object: 'container.file',
  created_at: MADE_AT,
  bytes: TABLE.length,
  container_id: container,
  path: `/mnt/data/${id}.csv`,
  source: 'assistant',
});
