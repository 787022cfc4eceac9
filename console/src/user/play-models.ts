/** Models of a key, and calls of the caller API by the session: a header names the key that pays, and its value stays unknown to the browser. */
import { useQuery } from '@tanstack/react-query';
import type { ModelKind, OwnModel } from '../../../src/schemas/index.ts';
import { csrfHeaders, fetchAgain, problemOf } from '../api/client.ts';
import { mine } from '../api/user.ts';

/** The models that a valid key may use. Listing them does not appear in the request log of the key. */
export const useModels = (key: string | undefined) =>
  useQuery({
    queryKey: ['my-models', key],
    queryFn: () => mine.models({ key }),
    enabled: key !== undefined,
    staleTime: 60_000,
  });

export const ofKind = (models: readonly OwnModel[] | undefined, kind: ModelKind): readonly OwnModel[] =>
  (models ?? []).filter((model) => model.kind === kind);

interface PlayCall {
  readonly key: string;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** One call with the key. A lost session is offered back, as for forms. */
export const play = (path: string, { key, body, headers = {}, signal }: PlayCall): Promise<Response> =>
  fetchAgain(path, () => ({
    method: 'POST',
    headers: { ...csrfHeaders(), 'x-dragoman-key': key, 'content-type': 'application/json', ...headers },
    credentials: 'same-origin',
    body: JSON.stringify(body),
    ...(signal && { signal }),
  }));

export interface PlayReply<T> {
  readonly body: T;
  readonly headers: Headers;
}

/** Sends a call whose response is JSON. */
export async function playJson<T>(path: string, call: PlayCall): Promise<PlayReply<T>> {
  const response = await play(path, call);
  const body = await response.json();
  if (!response.ok) throw problemOf(response, body);
  return { body, headers: response.headers };
}
