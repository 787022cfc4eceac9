/** A command that calls a model, by its kind. */
import type { GroupStyle, OwnModel } from '../../../src/schemas/index.ts';
import { snippetsFor } from '../parts/snippets.ts';
import { texts } from '../texts.ts';
import { playTexts } from './play/texts.ts';

export function commandFor({ id, kind }: OwnModel, style: GroupStyle): string {
  const origin = location.origin;
  const key = texts.key.placeholder;
  if (kind === 'text' && style !== 'video')
    return snippetsFor({ origin, style, model: id, key }).find(({ name }) => name === 'curl')?.text ?? '';
  const [path, body] = REQUESTS[kind === 'text' ? 'video' : kind](id);
  return [
    `curl ${origin}${path} \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
}

const REQUESTS = {
  image: (model: string) => ['/v1/images/generations', { model, prompt: playTexts.sampleImage }],
  embeddings: (model: string) => ['/v1/embeddings', { model, input: 'A brass desk lamp' }],
  video: (model: string) => [
    '/api/v3/contents/generations/tasks',
    { model, content: [{ type: 'text', text: playTexts.sampleVideo }], duration: 5 },
  ],
} as const satisfies Record<string, (model: string) => readonly [string, object]>;
