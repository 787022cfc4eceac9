/**
 * Models of a key, and calls of the caller API by the session: a header names the key that pays, and its value stays
 * unknown to the browser.
 */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import type { ModelKind, OwnModel, RequestUsage } from '../../../../src/schemas/index.ts';
import { csrfHeaders, fetchAgain, problemOf } from '../../api/client.ts';
import { mine } from '../../api/user.ts';

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
  readonly method?: 'GET' | 'POST';
  /** JSON, or a form with files. */
  readonly body?: object | FormData;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** One call with the key. A lost session is offered back, as for forms. */
export const play = (path: string, { key, method = 'POST', body, headers = {}, signal }: PlayCall): Promise<Response> =>
  fetchAgain(path, () => ({
    method,
    headers: {
      ...csrfHeaders(),
      'x-dragoman-key': key,
      ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...headers,
    },
    credentials: 'same-origin',
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
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

/**
 * A call that is sent once, however often it is asked for before its end: a render would notice the first click too
 * late.
 */
export function useCall<T>(send: () => Promise<T>) {
  const isSending = useRef(false);
  const { mutate, ...state } = useMutation({
    mutationFn: send,
    onSettled: () => {
      isSending.current = false;
    },
  });
  const run = (): void => {
    if (isSending.current) return;
    isSending.current = true;
    mutate();
  };
  return { ...state, run };
}

const PENDING_TRIES = 8;

/** What a call was charged. The server waits a moment for a call that has just ended. */
export const useCharge = (key: string, id: string | null) =>
  useQuery({
    queryKey: ['play-charge', key, id],
    queryFn: async ({ signal }) => {
      const path = `/v1/usage/requests/${encodeURIComponent(id ?? '')}`;
      return (await playJson<RequestUsage>(path, { key, method: 'GET', signal })).body;
    },
    enabled: id !== null,
    retry: false,
    refetchInterval: ({ state }) => state.data?.status === 'pending' && state.dataUpdateCount < PENDING_TRIES && 1_000,
    staleTime: Number.POSITIVE_INFINITY,
  });
