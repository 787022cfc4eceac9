/** Public characters (V 4.11): list and detail for callers, and pictures, which need no key. */
import { fail } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { type Call, idHeaders, sendJson } from '../../platform/web/index.ts';
import { FOREIGN_FILE_HEADERS, VIDEO_QUERIES } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';
import { sendList } from './list.ts';
import { readVideoQuery } from './query.ts';

interface CharacterServices {
  readonly video: Video;
}

export async function listPublicCharacters({ video }: CharacterServices, call: Call, { key }: Caller): Promise<void> {
  const { limit, after, tags, ...filter } = readVideoQuery(call.query, VIDEO_QUERIES['characters.list']);
  const wanted = tags?.flatMap((text) => text.split(',')).filter((tag) => tag !== '');
  const rows = await video.characters.list(key, { ...filter, tags: wanted }, { after, limit });
  sendList(call, rows, {
    limit,
    view: (character) => video.characters.view(character),
    id: ({ public_id }) => public_id,
  });
}

export async function getPublicCharacter({ video }: CharacterServices, call: Call, { key }: Caller): Promise<void> {
  const { model } = readVideoQuery(call.query, VIDEO_QUERIES['characters.get']);
  const character = await video.characters.find(key, call.params.character_id ?? '', model);
  if (!character) throw fail('public_character_not_found');
  sendJson(call, 200, video.characters.view(character));
}

/** A picture never changes under its address for long; browsers may keep it for an hour. */
export async function sendPreview({ video }: CharacterServices, call: Call): Promise<void> {
  const preview = await video.characters.preview(call.params.character_id ?? '');
  if (!preview) throw fail('not_found', 'There is no such picture.');
  call.response.writeHead(200, {
    ...idHeaders(call),
    ...FOREIGN_FILE_HEADERS,
    'content-type': preview.type,
    'content-disposition': 'inline',
    'content-length': preview.bytes.length,
    'cache-control': 'public, max-age=3600',
  });
  call.response.end(preview.bytes);
}
