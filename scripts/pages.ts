/** Code blocks of Markdown pages: those that are generated from the table of clients, and those that tests run. */
import { CLIENTS, type ClientId, type ClientRow } from '../console/clients/index.ts';
import { INFERENCE_ENDPOINTS, STYLES, type Style } from '../src/rules/index.ts';

/**
 * The second word after the fence. Without one `npm run test:all` runs the block; `guides` blocks need packages that
 * `npm run release -- guides` installs; `no-run` blocks are shown only.
 */
export type BlockMode = 'test' | 'guides' | 'no-run';

export interface PageBlock {
  readonly page: string;
  /** Line of the fence. */
  readonly line: number;
  readonly language: string;
  readonly mode: BlockMode;
  readonly text: string;
  /** The client whose lines the block shows. */
  readonly client: ClientId | undefined;
  /** Set when the lines depend on the style of the key. */
  readonly style: Style | undefined;
}

/** The address in all pages. */
export const PAGE_ORIGIN = 'http://127.0.0.1:8080';
export const PAGE_KEY = '$DRAGOMAN_KEY';

const MODELS: Readonly<Record<Style, string>> = {
  responses: 'demo-responses',
  messages: 'demo-messages',
  'generate-content': 'demo-generate',
};

const MARKED = /^<!-- (client|install): (\S+)(?: (\S+))? -->\n[\s\S]*?^<!-- end -->$/gm;
const FENCED = /^```(\w+)(?: ([\w-]+))?\n([\s\S]*?)^```$/gm;
const MARKER_ABOVE = /<!-- client: (\S+)(?: (\S+))? -->\n$/;

/** The page with the blocks of its clients. Markers stay, so that the page can be generated again. */
export const withClients = (text: string): string =>
  text.replace(MARKED, (all, kind: string, id: string, style?: string) => {
    const marker = all.slice(0, all.indexOf('\n'));
    const client = clientOf(id);
    const block = kind === 'install' ? installBlock(client) : clientBlock(client, styleOf(client, style));
    return `${marker}\n${block}\n<!-- end -->`;
  });

export function blocksOf(page: string, text: string): PageBlock[] {
  return [...text.matchAll(FENCED)].map((match) => {
    const [, language = '', mode = 'test', code = ''] = match;
    if (!isMode(mode)) throw new Error(`${page}: ${mode} is not a kind of block; use guides or no-run`);
    const before = text.slice(0, match.index);
    const [, client, style] = MARKER_ABOVE.exec(before) ?? [];
    return {
      page,
      line: before.split('\n').length,
      language,
      mode,
      text: code,
      client: client as ClientId | undefined,
      style: style as Style | undefined,
    };
  });
}

const isMode = (word: string): word is BlockMode => ['test', 'guides', 'no-run'].includes(word);

function clientOf(id: string): ClientRow {
  if (!Object.hasOwn(CLIENTS, id)) throw new Error(`${id} is not a client of console/clients/`);
  return CLIENTS[id as ClientId];
}

/** The style that serves the client natively, unless the marker names one. */
function styleOf({ operation }: ClientRow, named: string | undefined): Style {
  const isNative = (style: Style): boolean =>
    operation !== undefined && /native|prefer/.test(INFERENCE_ENDPOINTS[operation].groups[style].kind);
  const style = STYLES.find((one) => (named === undefined ? isNative(one) : one === named));
  if (style === undefined) throw new Error(`A marker needs one of the styles ${STYLES.join(', ')}, found ${named}`);
  return style;
}

function clientBlock(client: ClientRow, style: Style): string {
  const input = { origin: PAGE_ORIGIN, style, model: MODELS[style], key: PAGE_KEY };
  const text = client.lines(input) + (client.once?.(input) ?? '');
  return `\`\`\`${client.language}${client.isTested ? '' : ' guides'}\n${text}\n\`\`\``;
}

function installBlock({ registry, packages, start }: ClientRow): string {
  const command = registry === 'PyPI' ? 'pip install' : `npm install${start ? ' -g' : ''}`;
  return `\`\`\`sh no-run\n${command} ${packages.join(' ')}\n\`\`\``;
}
