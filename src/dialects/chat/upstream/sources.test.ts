import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTEXT, decodeAll } from '../../../../test/support/dialects/codecs.ts';
import { fold } from '../../hub/fold.ts';
import type { HubReply } from '../../hub/types.ts';
import { decodeReply, openDecoder } from './stream-decoder.ts';

const citations = ['https://tides.example/a', 'https://moon.example/b', 'https://sea.example/c'];
const results = citations.map((url, n) => ({ title: `Page ${n + 1}`, url, date: null }));
const TEXT = 'Tides follow the moon[2], twice a day.[1][9]';

/** As Perplexity streams: every chunk repeats its sources. */
function streamed(text: string, sources: object): HubReply {
  const chunk = (delta: object, finish_reason: string | null) => ({
    data: { id: 'c1', model: 'sonar', ...sources, choices: [{ index: 0, delta, finish_reason }] },
  });
  const events = [chunk({ content: text.slice(0, 20) }, null), chunk({ content: text.slice(20) }, 'stop')];
  const folded = fold(decodeAll(openDecoder(CONTEXT), [...events, { data: '[DONE]' }]));
  assert.ok('reply' in folded);
  return folded.reply;
}

const unary = (text: string, sources: object): HubReply =>
  decodeReply(
    {
      id: 'c1',
      model: 'sonar',
      ...sources,
      choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }],
    },
    CONTEXT,
  );

const notesOf = ({ items: [item] }: HubReply) => {
  assert.ok(item?.kind === 'message');
  const [part] = item.parts;
  return part?.kind === 'text' ? part.annotations : undefined;
};

for (const [name, read] of Object.entries({ streamed, unary })) {
  test(`chat ${name} replies cite their search results at the marks of the text, and the others at its end`, () => {
    assert.deepEqual(notesOf(read(TEXT, { citations, search_results: results })), [
      { start: 21, end: 24, url: citations[1], title: 'Page 2' },
      { start: 38, end: 41, url: citations[0], title: 'Page 1' },
      { url: citations[2], title: 'Page 3' },
    ]);
  });

  test(`chat ${name} replies cite bare addresses, with the address as title`, () => {
    assert.deepEqual(
      notesOf(read('No marks.', { citations })),
      citations.map((url) => ({ url, title: url })),
    );
  });

  test(`chat ${name} replies without text name the search results that no text can cite`, () => {
    assert.deepEqual(read('', { citations }).omitted, ['search_results']);
  });
}
