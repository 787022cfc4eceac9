/**
 * An OpenID provider for tests: discovery, keys, the authorization endpoint without a page, and tokens of the code flow
 * with PKCE.
 */
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const CLIENT = { id: 'dragoman', secret: 'the-secret-of-the-client' };

interface Grant {
  readonly challenge: string;
  readonly nonce: string;
}

export class OidcProvider {
  /** Claims of the person who signs in next. */
  claims: Record<string, unknown> = {};
  /** Replaces members of the next ID token, such as a wrong nonce. */
  faults: Record<string, unknown> = {};
  /** Signs the next ID tokens with another key. */
  isForging = false;
  readonly #otherKeys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  readonly #keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  readonly #grants = new Map<string, Grant>();
  readonly #server = createServer((request, response) => void this.#respond(request, response));
  #issuer = '';

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this.#issuer;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.#issuer);
    if (url.pathname === '/authorize') return this.#authorize(url.searchParams, response);
    const body =
      url.pathname === '/token' ? this.#token(request, await textOf(request)) : this.#documents()[url.pathname];
    response.writeHead(body ? 200 : 400, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { error: 'invalid_grant' }));
  }

  #documents(): Record<string, object> {
    const issuer = this.#issuer;
    return {
      '/.well-known/openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        code_challenge_methods_supported: ['S256'],
      },
      '/jwks': {
        keys: [{ ...this.#keys.publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' }],
      },
    };
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    const code = randomUUID();
    this.#grants.set(code, { challenge: query.get('code_challenge') ?? '', nonce: query.get('nonce') ?? '' });
    const back = new URL(query.get('redirect_uri') ?? '');
    back.search = String(new URLSearchParams({ code, state: query.get('state') ?? '' }));
    response.writeHead(302, { location: back.href });
    response.end();
  }

  /** A code works once, with the verifier of its challenge and the secret of the client. */
  #token({ headers }: IncomingMessage, text: string): object | undefined {
    const form = new URLSearchParams(text);
    const grant = this.#grants.get(form.get('code') ?? '');
    this.#grants.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const basic = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`;
    const isClient = form.get('client_secret') === CLIENT.secret || headers.authorization === basic;
    if (grant?.challenge !== challenge || !isClient) return undefined;
    return { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: this.#idToken(grant) };
  }

  #idToken({ nonce }: Grant): string {
    const now = Math.floor(Date.now() / 1_000);
    const standard = { iss: this.#issuer, aud: CLIENT.id, iat: now, exp: now + 60, nonce };
    const payload = { ...standard, ...this.claims, ...this.faults };
    const text = [{ alg: 'RS256', kid: 'k1' }, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const { privateKey } = this.isForging ? this.#otherKeys : this.#keys;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
