/** A response before it is sent, so that a fault can replace or damage it. */
export interface Reply {
  status: number;
  /** The code of an error, for the journal. */
  code?: string;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer;
}

export const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

export const jsonReply = (body: unknown, status = 200): Reply => ({
  status,
  headers: JSON_TYPE,
  body: JSON.stringify(body),
});

/** Errors of the object store are XML. */
export const xmlReply = (status: number, code: string, message: string): Reply => ({
  status,
  code,
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
});
