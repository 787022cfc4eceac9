/** The journal of the requests that the video provider received, for assertions in tests. */
import { createHash } from 'node:crypto';
import { Entries } from '../entries.ts';
import { isObject, type JsonObject, objectsOf, textOf } from '../json.ts';
import type { Action } from './assets/actions.ts';
import type { Operation } from './triggers.ts';

const KEEP_REQUESTS = 5_000;
// Requests with inline images are too large to keep.
const KEEP_BODY = 1 << 20;

/** How a request ended. `open`: not yet, `aborted`: the client disconnected, the others are faults. */
export type VideoOutcome = 'open' | 'sent' | 'aborted' | 'reset' | 'cut' | 'hung';

/** The parameters of a create request that tests look for. */
export interface CreateSummary {
  model: string;
  prompt: string;
  /** Types of the content items, in order, with their roles: `image_url:first_frame`. */
  items: string[];
  callbackUrl?: string;
  callbackPath?: string;
  safetyIdentifier?: string;
}

/** The parameters of a request to the asset library that tests look for. */
export interface LibrarySummary {
  projectName?: string;
  id?: string;
  groupId?: string;
  name?: string;
  url?: string;
  assetType?: string;
  callbackUrl?: string;
  bytedToken?: string;
}

export interface VideoEntry {
  id: number;
  method: string;
  path: string;
  query: string;
  /** Without credentials. */
  headers: Readonly<Record<string, string>>;
  /** `control`: an action of the asset library. `page`: the page of a validation. */
  operation: Operation | 'control' | 'page' | 'unknown';
  /** The action of a `control` entry. */
  action?: string;
  /** Absent if the credential is unknown or the call needs none. */
  account?: string;
  /** Real time, in milliseconds since 1970. */
  receivedAt: number;
  bodyLength: number;
  bodySha256: string;
  /** The parsed body of a create request or of an action, up to 1 MiB. */
  body?: JsonObject;
  summary?: CreateSummary;
  library?: LibrarySummary;
  /** The task that the call created or was about. */
  taskId?: string;
  /** The asset, group or validation token that an action created or was about. */
  resourceId?: string;
  /** The call created a task, an asset, a group or a validation, whatever the response was. */
  isCreated: boolean;
  status?: number;
  /** The code of an error response. */
  code?: string;
  outcome: VideoOutcome;
}

/** Create requests that were received, and tasks that they created. */
export interface CreateCount {
  received: number;
  created: number;
}

const SECRET_HEADERS = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key'];

export class VideoJournal extends Entries<VideoEntry> {
  #count = 0;

  open(start: Pick<VideoEntry, 'method' | 'path' | 'query' | 'headers'>): VideoEntry {
    this.#count += 1;
    const entry: VideoEntry = {
      id: this.#count,
      ...start,
      headers: Object.fromEntries(Object.entries(start.headers).filter(([name]) => !SECRET_HEADERS.includes(name))),
      operation: 'unknown',
      receivedAt: Date.now(),
      bodyLength: 0,
      bodySha256: '',
      isCreated: false,
      outcome: 'open',
    };
    this.requests.push(entry);
    if (this.requests.length > KEEP_REQUESTS) this.requests.shift();
    return entry;
  }

  keepBody(entry: VideoEntry, body: Buffer): void {
    entry.bodyLength = body.length;
    entry.bodySha256 = createHash('sha256').update(body).digest('hex');
    this.changed();
  }

  /** The create requests, in the order of arrival. */
  get creates(): VideoEntry[] {
    return this.requests.filter(({ operation }) => operation === 'create');
  }

  /** The requests to the asset library, of one action or of all, in the order of arrival. */
  actions(action?: Action): VideoEntry[] {
    return this.requests.filter((entry) => entry.operation === 'control' && (action ?? entry.action) === entry.action);
  }

  /** Counts create requests by a value that identifies an order; requests without it are not counted. */
  countCreates(by: 'safetyIdentifier' | 'callbackPath'): Record<string, CreateCount> {
    const counts: Record<string, CreateCount> = {};
    for (const { summary, isCreated } of this.creates) {
      const name = summary?.[by];
      if (name === undefined) continue;
      counts[name] ??= { received: 0, created: 0 };
      counts[name].received += 1;
      if (isCreated) counts[name].created += 1;
    }
    return counts;
  }

  clear(): void {
    this.requests.length = 0;
  }
}

export function keepParsed(entry: VideoEntry, body: JsonObject): void {
  if (entry.bodyLength <= KEEP_BODY) entry.body = body;
}

export function summaryOf(body: JsonObject): CreateSummary {
  const content = objectsOf(body.content);
  const callbackUrl = textOf(body.callback_url);
  const safetyIdentifier = textOf(body.safety_identifier);
  return {
    model: textOf(body.model),
    prompt: content
      .map(({ text }) => textOf(text))
      .join('\n')
      .trim(),
    items: content.map(({ type, role }) => (role === undefined ? textOf(type) : `${textOf(type)}:${textOf(role)}`)),
    ...(callbackUrl !== '' && { callbackUrl }),
    ...(URL.canParse(callbackUrl) && { callbackPath: new URL(callbackUrl).pathname }),
    ...(safetyIdentifier !== '' && { safetyIdentifier }),
  };
}

export function librarySummaryOf(body: JsonObject): LibrarySummary {
  const summary = {
    projectName: body.ProjectName,
    id: body.Id,
    groupId: body.GroupId,
    name: body.Name,
    url: body.URL,
    assetType: body.AssetType,
    callbackUrl: body.CallbackURL,
    bytedToken: body.BytedToken,
  };
  return Object.fromEntries(Object.entries(summary).filter(([, value]) => typeof value === 'string'));
}

/** An entry for `/_sim/journal`; long values such as inline images stay out of it. */
export function publicVideoEntry({ body: _body, ...entry }: VideoEntry): object {
  return entry;
}

export const parseBody = (body: Buffer): JsonObject | undefined => {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
};
