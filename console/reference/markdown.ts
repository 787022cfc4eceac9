/**
 * Markdown of the guides as HTML: headings, paragraphs, lists, tables and code, which is what they have. Every text is
 * escaped.
 */
import { escapeText, wideTable } from './html.ts';

export interface MarkdownSection {
  /** Empty before the first heading below the title. */
  readonly heading: string;
  readonly id: string;
  readonly text: string;
}

export interface MarkdownPage {
  readonly title: string;
  readonly html: string;
  /** For the search. */
  readonly sections: readonly MarkdownSection[];
}

/** The address that a link leads to on this site; undefined where the site does not have its page. */
export type LinkTarget = (link: string) => string | undefined;

export function renderMarkdown(source: string, target: LinkTarget): MarkdownPage {
  const lines = source.replaceAll(/<!--[\s\S]*?-->\n?/g, '').split('\n');
  const html: string[] = [];
  const sections: { heading: string; id: string; text: string }[] = [{ heading: '', id: '', text: '' }];
  let title = '';
  for (let n = 0; n < lines.length; ) {
    const line = lines[n] ?? '';
    const heading = /^(#{1,6}) (.*)$/.exec(line);
    if (heading) {
      const [, marks = '', text = ''] = heading;
      if (marks.length === 1) title = plain(text);
      else sections.push({ heading: plain(text), id: headingId(text), text: '' });
      html.push(`<h${marks.length} id="${headingId(text)}">${inline(text, target)}</h${marks.length}>`);
      n += 1;
      continue;
    }
    const end = blockEnd(lines, n);
    const block = lines.slice(n, end);
    const section = sections.at(-1);
    if (section) section.text += ` ${plain(block.join(' '))}`;
    html.push(blockHtml(block, target));
    n = end;
  }
  return { title, html: html.join('\n'), sections };
}

const FENCE = /^\s*```/;
const ITEM = /^(\s*)(?:[-*]|\d+\.) (.*)$/;
const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === '';

function blockEnd(lines: readonly string[], from: number): number {
  let n = from + 1;
  if (isBlank(lines[from])) return n;
  if (FENCE.test(lines[from] ?? '')) {
    while (n < lines.length && !FENCE.test(lines[n] ?? '')) n += 1;
    return n + 1;
  }
  while (n < lines.length && !isBlank(lines[n]) && !FENCE.test(lines[n] ?? '') && !/^#{1,6} /.test(lines[n] ?? ''))
    n += 1;
  return n;
}

function blockHtml(block: readonly string[], target: LinkTarget): string {
  const [first = ''] = block;
  if (isBlank(first)) return '';
  if (FENCE.test(first)) return `<pre>${escapeText(block.slice(1, -1).join('\n'))}</pre>`;
  if (first.startsWith('|')) return tableHtml(block, target);
  const list = block.findIndex((line) => ITEM.test(line));
  if (list > 0) return blockHtml(block.slice(0, list), target) + listHtml(block.slice(list), target);
  if (list === 0) return listHtml(block, target);
  return `<p>${inline(block.join(' '), target)}</p>`;
}

/** An item goes on in lines that begin with no mark. */
function listHtml(lines: readonly string[], target: LinkTarget): string {
  const items: string[] = [];
  for (const line of lines) {
    const [, , text] = ITEM.exec(line) ?? [];
    if (text === undefined) items.push(`${items.pop() ?? ''} ${line.trim()}`);
    else items.push(text);
  }
  const tag = /^\s*\d/.test(lines[0] ?? '') ? 'ol' : 'ul';
  return `<${tag}>${items.map((item) => `<li>${inline(item, target)}</li>`).join('')}</${tag}>`;
}

const cells = (line: string): string[] =>
  line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

function tableHtml([head = '', _rule, ...rows]: readonly string[], target: LinkTarget): string {
  const row = (line: string, tag: 'th' | 'td'): string =>
    `<tr>${cells(line)
      .map((cell) => `<${tag}>${inline(cell, target)}</${tag}>`)
      .join('')}</tr>`;
  const body = rows.map((line) => row(line, 'td')).join('');
  return wideTable(`<thead>${row(head, 'th')}</thead><tbody>${body}</tbody>`);
}

/** Code is left alone; a link without a page of this site stays a text. */
const inline = (text: string, target: LinkTarget): string =>
  text
    .split(/(`[^`]+`)/)
    .map((part, n) => (n % 2 === 1 ? `<code>${escapeText(part.slice(1, -1))}</code>` : words(part, target)))
    .join('');

const words = (text: string, target: LinkTarget): string =>
  escapeText(text)
    .replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (_all, label: string, link: string) => {
      const address = target(link);
      const shown = label.replace(/\.md$/, '');
      return address === undefined ? shown : `<a href="${address}">${shown}</a>`;
    })
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll('&lt;br&gt;', '<br>');

const plain = (text: string): string =>
  text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]|-{3,}/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** As GitHub makes them, which the links of the pages follow. */
const headingId = (text: string): string =>
  plain(text)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
