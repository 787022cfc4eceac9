/** The guides as pages of /docs: those of docs/guides, and the pages about what callers use. */
import { escapeText } from './html.ts';
import { type MarkdownPage, renderMarkdown } from './markdown.ts';

export interface Guide extends MarkdownPage {
  /** In /docs. */
  readonly file: string;
}

interface GuideGroup {
  readonly name: string;
  /** Paths in docs/, without their ending. */
  readonly pages: readonly string[];
}

export const GUIDE_GROUPS: readonly GuideGroup[] = [
  {
    name: 'Clients',
    pages: [
      ...['curl', 'openai-sdk', 'anthropic-sdk', 'google-sdk', 'ai-sdk', 'langchain', 'claude-code', 'codex'],
      ...['gemini-cli', 'opencode', 'aider'],
    ].map((name) => `guides/${name}`),
  },
  { name: 'Topics', pages: ['images', 'video', 'callbacks', 'guides/billing', 'fidelity', 'versioning'] },
  {
    name: 'For operators',
    pages: ['quick-start', 'chat-servers', 'azure', 'bedrock', 'vertex'].map((name) => `guides/${name}`),
  },
];

const START = 'guides/README';
export const GUIDE_PAGES: readonly string[] = [START, ...GUIDE_GROUPS.flatMap(({ pages }) => pages)];

const fileOf = (page: string): string =>
  page === START ? 'guides.html' : `guides/${page.split('/').at(-1) ?? page}.html`;

/** Pages that this site has in another form. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  errors: '/docs/errors.html',
  endpoints: '/docs',
  '../openapi.json': '/openapi.json',
};

function addressOf(from: string, link: string): string | undefined {
  if (/^https?:/.test(link) || link.startsWith('#')) return link;
  const [path = '', anchor] = link.split('#');
  const { pathname } = new URL(path, `docs://docs/x/${from}`);
  const name = pathname.replace(/^\/x\//, '').replace(/\.md$/, '');
  const found = GUIDE_PAGES.includes(name)
    ? `/docs/${fileOf(name)}`
    : ELSEWHERE[pathname === '/openapi.json' ? '../openapi.json' : name];
  return found && (anchor === undefined ? found : `${found}#${anchor}`);
}

/** `read` returns the text of a page in docs/. */
export const renderGuides = (read: (page: string) => string): readonly Guide[] =>
  GUIDE_PAGES.map((page) => ({
    file: fileOf(page),
    ...renderMarkdown(read(page), (link) => addressOf(page, link)),
  }));

export const guideLinks = (guides: readonly Guide[], current: string): string =>
  GUIDE_GROUPS.map(
    ({ name, pages }) =>
      `<h2>${escapeText(name)}</h2><ul>${pages
        .flatMap((page) => guides.find(({ file }) => file === fileOf(page)) ?? [])
        .map(
          ({ file, title }) =>
            `<li><a href="/docs/${file}"${file === current ? ' aria-current="page"' : ''}>${escapeText(title)}</a></li>`,
        )
        .join('')}</ul>`,
  ).join('');
