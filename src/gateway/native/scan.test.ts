import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webmFile } from '../../../test/support/media-files.ts';
import { StepBudget } from '../../core/index.ts';
import { scanJob, scanNative } from './scan.ts';

const light = (content: unknown): unknown =>
  scanJob.runLight?.(
    {
      operation: 'messages.create',
      dialect: 'messages',
      bytes: Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] })),
    },
    new StepBudget(),
  );
const image = (file: Buffer): object => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: file.toString('base64') },
});

test('a long text is light, and media of many steps are not, however few values hold them', () => {
  assert.ok(light('a'.repeat(600_000)));
  assert.ok(light([image(webmFile(60))]));
  assert.equal(
    light([image(Buffer.concat([webmFile(1), Buffer.from(Array(60_000).fill([0xe7, 0x80]).flat())]))]),
    undefined,
  );
});

test('tools that a client runs count the prompts that their provider adds, as hosted ones do', () => {
  const body = {
    ...{ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    tools: [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      { type: 'computer_20250124', name: 'computer', display_width_px: 1024, display_height_px: 768 },
    ],
  };
  const { bounds } = scanNative(
    { operation: 'messages.create', dialect: 'messages', bytes: Buffer.from(JSON.stringify(body)) },
    new StepBudget(),
  );
  // A provider was seen to count 2,600 for these three.
  assert.ok((bounds.toolInput ?? 0) >= 2_600, `${bounds.toolInput}`);
  assert.equal(bounds.maxSearches, 0);
});
