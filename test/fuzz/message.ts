/** What a reader makes of the bytes of one connection, in a form that can be compared. Text holds one character per byte. */

export type Side = 'requests' | 'responses';

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** Flat name, value, name, value; names in lower case. */
  readonly fields: readonly string[];
}

export interface RequestReading {
  /** Heads in order, whether or not their bodies were complete. */
  readonly heads: readonly RequestHead[];
  /** Bodies of complete requests, in order. */
  readonly bodies: readonly string[];
  /** The bytes contain something else than complete, valid requests. */
  readonly isRejected: boolean;
  /** The reader closed the connection after a request and read nothing further. */
  readonly isClosed: boolean;
}

export interface CompleteResponse {
  readonly status: number;
  /** `name: value`, sorted; repeated headers are joined with commas. */
  readonly fields: readonly string[];
  readonly body: string;
}

export interface ResponseReading {
  /** Undefined when the response is rejected or incomplete. */
  readonly response: CompleteResponse | undefined;
  /** Number of bytes up to the end of the response; all bytes when the end of the connection ends it. */
  readonly end: number;
}

export const toBytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The parts of a text between the given positions, which may be in any order. */
export function splitAt(text: string, positions: readonly number[]): string[] {
  const cuts = [0, ...positions.toSorted((a, b) => a - b), text.length];
  return cuts.slice(1).map((cut, n) => text.slice(cuts[n], cut));
}
