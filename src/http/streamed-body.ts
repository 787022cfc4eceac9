/** A request body that is read while it is sent, and read again for another attempt. */
export interface StreamedBody {
  /** Exactly the number of bytes that `chunks` yields. */
  readonly length: number;
  chunks(): AsyncIterable<Buffer>;
}
