/** A client of the asset library with its own signer, for tests. It shares no code with the check of signatures. */
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';

/** The fields of responses that the tests read. */
export interface LibraryBody {
  ResponseMetadata: {
    RequestId: string;
    Action: string;
    Version: string;
    Service: string;
    Region: string;
    Error?: { Code: string; Message: string };
  };
  Result: LibraryResult;
  GroupId?: string;
}

export interface LibraryResult {
  Id: string;
  Name: string;
  Status: string;
  URL: string;
  GroupId: string;
  Error?: { Code: string; Message: string };
  Items: LibraryResult[];
  TotalCount: number;
  NextToken?: string;
  BytedToken: string;
  H5Link: string;
  [name: string]: unknown;
}

export interface LibraryResponse {
  status: number;
  /** Empty unless the response is an error. */
  code: string;
  body: LibraryBody;
  result: LibraryResult;
}

/** What a request is signed with; a test changes one member to break the signature. */
export interface Signer {
  accessKey: string;
  secret: string;
  region: string;
  service: string;
  time: number;
  signedHeaders: string[];
}

export const SIGNER: Omit<Signer, 'time'> = {
  accessKey: 'AK-simulated',
  secret: 'SK-simulated',
  region: 'cn-beijing',
  service: 'ark',
  signedHeaders: ['host', 'x-content-sha256', 'x-date'],
};

const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex');
const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** The headers of a signed request with these query and body. */
export function sign(
  host: string,
  query: string,
  body: string,
  { accessKey, secret, region, service, time, signedHeaders }: Signer,
): Record<string, string> {
  const longDate = `${new Date(time).toISOString().slice(0, 19).replaceAll('-', '').replaceAll(':', '')}Z`;
  const day = longDate.slice(0, 8);
  const values: Record<string, string> = {
    host,
    'content-type': 'application/json',
    'x-content-sha256': sha256Hex(body),
    'x-date': longDate,
  };
  let canonical = `POST\n/\n${query}\n`;
  for (const name of signedHeaders) canonical += `${name}:${values[name]}\n`;
  canonical += `\n${signedHeaders.join(';')}\n${sha256Hex(body)}`;
  const scope = `${day}/${region}/${service}/request`;
  const stringToSign = `HMAC-SHA256\n${longDate}\n${scope}\n${sha256Hex(canonical)}`;
  const signingKey = mac(mac(mac(mac(secret, day), region), service), 'request');
  const signature = mac(signingKey, stringToSign).toString('hex');
  const authorization = `HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`;
  const { host: _host, ...sent } = values;
  return { ...sent, authorization };
}

/** A client of one account. */
export class LibraryClient {
  readonly #origin: string;
  readonly #signer: Partial<Signer>;

  constructor(origin: string, signer: Partial<Signer> = {}) {
    this.#origin = origin;
    this.#signer = signer;
  }

  async call(action: string, body: object = {}, init: RequestInit = {}): Promise<LibraryResponse> {
    const response = await this.send(action, body, init);
    const parsed = (await response.json()) as LibraryBody;
    const code = parsed.ResponseMetadata?.Error?.Code ?? '';
    return { status: response.status, code, body: parsed, result: parsed.Result };
  }

  /** The raw response; a fault may make it something other than JSON. */
  send(action: string, body: object = {}, init: RequestInit = {}): Promise<Response> {
    const query = `Action=${action}&Version=2024-01-01`;
    const text = JSON.stringify(body);
    const signer = { ...SIGNER, time: Date.now(), ...this.#signer };
    const headers = { ...sign(new URL(this.#origin).host, query, text, signer), ...init.headers };
    return fetch(`${this.#origin}/?${query}`, { method: 'POST', body: text, ...init, headers });
  }

  /** Calls an action that must succeed. */
  async result(action: string, body: object = {}): Promise<LibraryResult> {
    const { status, code, result } = await this.call(action, body);
    assert.deepEqual([status, code], [200, ''], action);
    return result;
  }

  async createGroup(name = 'Group', more: object = {}): Promise<string> {
    return (await this.result('CreateAssetGroup', { Name: name, ...more })).Id;
  }

  async createAsset(groupId: string, more: object = {}): Promise<string> {
    return (await this.result('CreateAsset', assetBody(groupId, more))).Id;
  }

  async statusOf(assetId: string): Promise<string> {
    return (await this.result('GetAsset', { Id: assetId })).Status;
  }
}

export const assetBody = (groupId: string, more: object = {}): object => ({
  GroupId: groupId,
  URL: 'https://example.com/cat.png',
  AssetType: 'Image',
  ...more,
});
