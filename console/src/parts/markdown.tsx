/**
 * The usual parts of Markdown as elements. Nothing of the text becomes markup: what is not understood is shown as it
 * is.
 */
import { Fragment, type ReactNode } from 'react';
import { INLINE } from './inline.ts';

/** A longer text is shown as it is, because a browser lays out every element. */
const MAX_CHARS = 100_000;

export const Markdown = ({ text }: { readonly text: string }) =>
  text.length > MAX_CHARS ? (
    <p className="raw">{text}</p>
  ) : (
    <div className="markdown">
      {blocksOf(text).map((block, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only added at the end
        <Block key={n} block={block} />
      ))}
    </div>
  );

type Block =
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly kind: 'quote' | 'paragraph'; readonly text: string };

const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^#{1,6}\s+(.*)$/;
const ITEM = /^\s*(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  for (let n = 0; n < lines.length; ) {
    const line = lines[n] ?? '';
    if (line.trim() === '') {
      n += 1;
    } else if (FENCE.test(line)) {
      // A fence that is still open ends with the text that has arrived.
      let last = n + 1;
      while (last < lines.length && !FENCE.test(lines[last] ?? '')) last += 1;
      blocks.push({ kind: 'code', text: lines.slice(n + 1, last).join('\n') });
      n = last + 1;
    } else {
      const [kind, pattern] = KINDS.find(([, one]) => one.test(line)) ?? (['paragraph', undefined] as const);
      let end = n + 1;
      if (kind !== 'heading') while (end < lines.length && continues(lines[end] ?? '', pattern)) end += 1;
      blocks.push(blockOf(kind, lines.slice(n, end)));
      n = end;
    }
  }
  return blocks;
}

const KINDS = [
  ['heading', HEADING],
  ['list', ITEM],
  ['quote', QUOTE],
] as const;

const continues = (line: string, pattern: RegExp | undefined): boolean =>
  pattern ? pattern.test(line) : line.trim() !== '' && ![FENCE, HEADING, ITEM, QUOTE].some((other) => other.test(line));

function blockOf(kind: 'heading' | 'list' | 'quote' | 'paragraph', lines: readonly string[]): Block {
  if (kind === 'list')
    return {
      kind,
      isOrdered: ITEM.exec(lines[0] ?? '')?.[2] !== undefined,
      items: lines.map((line) => ITEM.exec(line)?.[3] ?? line),
    };
  const pattern = { heading: HEADING, quote: QUOTE, paragraph: undefined }[kind];
  return { kind, text: lines.map((line) => pattern?.exec(line)?.[1] ?? line).join('\n') };
}

const Block = ({ block }: { readonly block: Block }) => {
  switch (block.kind) {
    case 'code':
      return (
        <div className="code">
          <pre>{block.text}</pre>
        </div>
      );
    case 'heading':
      return <p className="heading">{inline(block.text)}</p>;
    case 'quote':
      return <blockquote>{inline(block.text)}</blockquote>;
    case 'paragraph':
      return <p>{inline(block.text)}</p>;
    case 'list': {
      const List = block.isOrdered ? 'ol' : 'ul';
      return (
        <List>
          {block.items.map((item, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: items are only added at the end
            <li key={n}>{inline(item)}</li>
          ))}
        </List>
      );
    }
  }
};

function inline(text: string): ReactNode[] {
  const parts = text.split(INLINE).filter((part) => part !== undefined && part !== '');
  return parts.map((part, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end
    <Fragment key={n}>{elementOf(part)}</Fragment>
  ));
}

function elementOf(part: string): ReactNode {
  const inside = (edge: number): string => part.slice(edge, -edge);
  if (/^`[^`]+`$/.test(part)) return <code>{inside(1)}</code>;
  if (/^\*\*[^*]+\*\*$/.test(part)) return <strong>{inside(2)}</strong>;
  if (/^\*[^*\s][^*]*\*$/.test(part)) return <em>{inside(1)}</em>;
  const [, label, address] = /^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)$/.exec(part) ?? [];
  if (label === undefined || address === undefined) return part;
  return (
    <a href={address} target="_blank" rel="noreferrer nofollow">
      {label}
    </a>
  );
}
