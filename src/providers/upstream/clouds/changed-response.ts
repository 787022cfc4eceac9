/**
 * A response that is read whole and changed: errors of clouds,
 * and replies in a form of their own. Other responses pass.
 */
import type { ResponseListener } from '../../../platform/http/index.ts';
import type { MadeResponse } from './cloud.ts';

export interface ResponseChange {
  applies(status: number): boolean;
  readonly maxBytes: number;
  change(response: MadeResponse): MadeResponse;
}

export function changedResponse(
  listener: ResponseListener,
  { applies, maxBytes, change }: ResponseChange,
): ResponseListener {
  const chunks: Buffer[] = [];
  let head: Omit<MadeResponse, 'body'> | undefined;
  let bytes = 0;
  return {
    onHead(status, headers) {
      if (applies(status)) head = { status, headers };
      else listener.onHead(status, headers);
    },
    onData(chunk) {
      if (!head) return listener.onData(chunk);
      // What exceeds the limit is dropped: the changed response is made of the beginning.
      if (bytes < maxBytes) chunks.push(chunk);
      bytes += chunk.length;
      return true;
    },
    onEnd() {
      if (head) {
        const { status, headers, body } = change({ ...head, body: Buffer.concat(chunks) });
        listener.onHead(status, { ...headers, 'content-length': String(body.length) });
        listener.onData(body);
      }
      listener.onEnd();
    },
    onError: (error) => listener.onError(error),
  };
}
