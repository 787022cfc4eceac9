/**
 * The only caller of `fetch`: adds the CSRF token, offers to sign in again, and turns every failure into a `Problem`.
 */
import { texts } from '../texts.ts';

/** A failed request, with what a person needs to act on it or to report it. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  /** The field of the request that is wrong. */
  readonly param: string | undefined;
  /** The parsed body, for members beside `error`. */
  readonly body: unknown;

  constructor(message: string, facts: ProblemFacts) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.param = facts.param;
    this.body = facts.body;
  }
}

interface ProblemFacts {
  readonly status: number;
  readonly code: string;
  readonly requestId?: string | undefined;
  readonly param?: string | undefined;
  readonly body?: unknown;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

interface RequestOptions {
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /**
   * A POST that changes nothing, such as a preview: it does not carry the Idempotency-Key of a form that is being
   * submitted.
   */
  readonly isRead?: boolean;
}

/** Lives in memory only: another tab reads its own from the session. */
let csrf: string | undefined;
export const keepCsrf = (token: string | undefined): void => {
  csrf = token;
};
export const csrfHeaders = (): Record<string, string> => (csrf === undefined ? {} : { 'x-csrf-token': csrf });

/**
 * What the submission of a form adds to its requests: a key that makes a repetition harmless, and what the person read.
 */
export interface Submission {
  readonly key: string;
  readonly expected?: Readonly<Record<string, unknown>> | undefined;
}
let submission: Submission | undefined;

/** A form is modal, or alone on its page: one is submitted at a time, or another one within it to sign in again. */
export async function during<T>(own: Submission, act: () => Promise<T>): Promise<T> {
  const outer = submission;
  submission = own;
  try {
    return await act();
  } finally {
    submission = outer;
  }
}

const submissionHeaders = (): Record<string, string> =>
  submission === undefined
    ? {}
    : {
        'idempotency-key': submission.key,
        ...(submission.expected && { 'x-if-unchanged': asciiJson(submission.expected) }),
      };

/** Headers hold ASCII only. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Resolves with true when the person is signed in again. The shell knows how to ask. */
type AskToSignIn = () => Promise<boolean>;
let askToSignIn: AskToSignIn = () => Promise.resolve(false);
export const onLostSession = (ask: AskToSignIn): void => {
  askToSignIn = ask;
};

/** Without a cookie, the admin API asks for its token. */
const LOST: readonly string[] = ['not_signed_in', 'invalid_admin_token'];
export const isLostSession = (error: unknown): boolean => error instanceof Problem && LOST.includes(error.code);

/**
 * The response to a request by cookie. A lost session is offered back before the request fails, and the request is then
 * sent again, so that nothing that was typed is lost.
 */
export async function fetchAgain(url: string, init: () => RequestInit): Promise<Response> {
  const response = await fetch(url, init());
  if (response.status !== 401) return response;
  const problem = problemOf(response, await jsonOf(response.clone()));
  return isLostSession(problem) && (await askToSignIn()) ? fetch(url, init()) : response;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export async function send<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
  const { query, body, signal, isRead = false } = options;
  // A repetition after signing in again has the key of its own form, not that of the form to sign in.
  const own = isRead ? {} : submissionHeaders();
  const init = (): RequestInit => ({
    method,
    headers: {
      accept: 'application/json',
      ...(method !== 'GET' && { ...csrfHeaders(), ...own }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    credentials: 'same-origin',
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  // Pages ask for themselves: the shell watches their queries.
  const sending = method === 'GET' ? fetch(urlOf(path, query), init()) : fetchAgain(urlOf(path, query), init);
  const response = await sending.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(texts.unreachable, {
      status: 0,
      code: 'unreachable',
    });
  });
  const parsed = await jsonOf(response);
  if (!response.ok) throw problemOf(response, parsed);
  return parsed as T;
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  send('GET', path, { query, signal });

/** Absent and empty values are left out, because the API rejects unknown text. */
export function urlOf(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') params.set(name, String(value));
  const text = params.toString();
  return text === '' ? path : `${path}?${text}`;
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface ErrorBody {
  readonly error?: {
    /** A number in the generate-content dialect, which names the kind in `status`. */
    readonly code?: string | number;
    readonly status?: string;
    readonly message?: string;
    readonly param?: string | null;
  };
}

export function problemOf(response: Response, body: unknown): Problem {
  const error = (body as ErrorBody | undefined)?.error;
  const code = typeof error?.code === 'string' ? error.code : (error?.status ?? `http_${response.status}`);
  return new Problem(texts.problems[code] ?? error?.message ?? texts.status(response.status), {
    status: response.status,
    code,
    requestId: response.headers.get('x-request-id') ?? undefined,
    param: error?.param ?? undefined,
    body,
  });
}
