/** Calls of the caller API by the session: a header names the key that pays, and its value stays unknown to the browser. */
import { csrfHeaders, problemOf } from '../api/client.ts';

export const playHeaders = (key: string): Record<string, string> => ({ ...csrfHeaders(), 'x-dragoman-key': key });

export interface PlayModel {
  readonly id: string;
  readonly kind: 'text' | 'image' | 'other';
}

/** The list has names only, so the kind is read from the name; every name can be typed in every form. */
export async function playModels(key: string): Promise<PlayModel[]> {
  const response = await fetch('/v1/models', { headers: playHeaders(key), credentials: 'same-origin' });
  const body = await response.json();
  if (!response.ok) throw problemOf(response, body);
  const { data } = body as { readonly data: readonly { readonly id: string }[] };
  return data.map(({ id }) => ({ id, kind: /image|imagen/.test(id) ? 'image' : /embed/.test(id) ? 'other' : 'text' }));
}
