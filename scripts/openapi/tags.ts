/** Chapters of the reference. */
import { linesOf } from '../../src/rules/index.ts';

interface Chapter {
  readonly name: string;
  readonly about: string;
  /** The beginnings of operation names. */
  readonly operations: readonly string[];
}

/** A line is `name: about | beginnings`. */
const chapters = (text: string): readonly Chapter[] =>
  linesOf(text).map((line) => {
    const [, name = '', about = '', operations = ''] = /^(.*?): (.*) \| (.*)$/.exec(line) ?? [];
    return { name, about, operations: operations.split(' ') };
  });

const GROUPS: Readonly<Record<string, readonly Chapter[]>> = {
  'Text, images, models': chapters(`
Messages: The messages dialect, on every group | messages.
Chat completions: The chat-completions dialect, on every group | chat.
Responses: The responses dialect, on every group; stored, background and WebSocket responses | responses.
Generate content: The native generate-content dialect | generate.
Embeddings: Vectors of texts | embeddings.
Images: Making and editing images | images.
Models and usage: What a key may use, and what its user has used | models. usage. billing.`),
  Video: chapters(`
Video tasks: The recommended entry to video | tasks.
Videos: The compatibility entry, and results | videos. links. results.
Callbacks: Deliveries of the state of tasks | callbacks.
Assets: Private assets and their groups | assets. assetGroups.
Real persons: Authorizations of real persons | sessions.
Public characters: The catalog of characters | characters.`),
  Operators: chapters(`
Admin: The API of operators; it takes the admin token, not an API key | admin.
Health: Load balancers, metrics, this document, and reports of providers | operator. provider.`),
  Console: chapters('Console: The API of the console, by cookie; it changes with the console | console.'),
};

const CHAPTERS = Object.values(GROUPS).flat();

export const TAGS = CHAPTERS.map(({ name, about }) => ({ name, description: about }));
/** A widely used extension: groups of tags in the navigation. */
export const TAG_GROUPS = Object.entries(GROUPS).map(([name, chapters]) => ({
  name,
  tags: chapters.map((one) => one.name),
}));

export const tagOf = (operation: string): string =>
  CHAPTERS.find(({ operations }) => operations.some((start) => operation.startsWith(start)))?.name ?? 'Health';
