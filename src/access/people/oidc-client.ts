/**
 * OpenID Connect: the authorization code flow with state, nonce and PKCE. The library is loaded at the first sign-in
 * only.
 */
import type { Configuration } from 'openid-client';
import type { Clock, Sealer } from '../../core/index.ts';
import { wholeResponse } from '../../platform/http/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { OIDC_STATE_MS, TIMEOUTS } from '../../rules/index.ts';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** Further scopes, for providers that send claims about groups only on request. */
  readonly scope: string;
}

export interface OidcServices {
  readonly settings: OidcSettings;
  readonly upstream: UpstreamClient;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

export type OidcClaims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string };

/** Kept in a cookie of the browser while the person is at the provider. */
interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly expiresAt: number;
}

const LOCATION = 'cookies.oidc:state';
const CALLBACK = '/console/v1/oidc/callback';

export class OidcClient {
  readonly #services: OidcServices;
  #discovering: Promise<Configuration> | undefined;

  constructor(services: OidcServices) {
    this.#services = services;
  }

  /** Where to send the browser, and the sealed text that it brings back. */
  async start(): Promise<{ readonly url: string; readonly pending: string }> {
    const { settings, clock, sealer } = this.#services;
    const oidc = await import('openid-client');
    const configuration = await this.#configuration();
    const verifier = oidc.randomPKCECodeVerifier();
    const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#callbackUrl(),
      scope: settings.scope,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    const pending: PendingSignIn = { state, nonce, verifier, expiresAt: clock.now() + OIDC_STATE_MS };
    return { url: url.href, pending: sealer.seal(JSON.stringify(pending), LOCATION) };
  }

  /** Throws when the response of the provider does not belong to the pending sign-in, or is not valid. */
  async finish(query: string, sealed: string): Promise<OidcClaims> {
    const { clock, sealer } = this.#services;
    const oidc = await import('openid-client');
    const pending = JSON.parse(sealer.open(sealed, LOCATION)) as PendingSignIn;
    if (pending.expiresAt <= clock.now()) throw new Error('the sign-in took too long');
    const tokens = await oidc.authorizationCodeGrant(
      await this.#configuration(),
      new URL(`${this.#callbackUrl()}?${query}`),
      {
        pkceCodeVerifier: pending.verifier,
        expectedState: pending.state,
        expectedNonce: pending.nonce,
        idTokenExpected: true,
      },
    );
    const claims = tokens.claims();
    if (!claims) throw new Error('the provider sent no ID token');
    return { ...claims };
  }

  #callbackUrl(): string {
    return `${this.#services.publicUrl()}${CALLBACK}`;
  }

  /** Read once; a failure is not kept. */
  #configuration(): Promise<Configuration> {
    this.#discovering ??= this.#discover().catch((error: unknown) => {
      this.#discovering = undefined;
      throw error;
    });
    return this.#discovering;
  }

  async #discover(): Promise<Configuration> {
    const { settings, upstream } = this.#services;
    const oidc = await import('openid-client');
    const issuer = new URL(settings.issuer);
    return oidc.discovery(issuer, settings.clientId, settings.clientSecret, undefined, {
      [oidc.customFetch]: (url, options) => oidcFetch(upstream, url, options),
      execute: [
        // Verifies signatures of ID tokens too; the specification lets clients rely on TLS.
        oidc.enableNonRepudiationChecks,
        // The settings accept HTTP on this machine only.
        ...(issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : []),
      ],
    });
  }
}

interface OidcRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Metadata, keys and tokens are some kilobytes. */
const MAX_BYTES = 2 ** 20;

/**
 * A request of the library, sent by the HTTP client of the gateway: with its time limits, its proxies and a limit of
 * bytes.
 */
async function oidcFetch(upstream: UpstreamClient, address: string, request: OidcRequest): Promise<Response> {
  const { origin, pathname, search } = new URL(address);
  const sent = {
    method: request.method === 'POST' ? 'POST' : 'GET',
    origin,
    path: pathname + search,
    headers: Object.entries(request.headers).flatMap(([name, value]) => [name.toLowerCase(), value]),
    body: request.body === undefined || request.body === null ? null : String(request.body),
    timeouts: TIMEOUTS.oidc,
  } as const;
  const response = await wholeResponse(upstream, sent, MAX_BYTES);
  if ('code' in response) throw new Error(`the OpenID provider cannot be reached: ${response.kind} ${response.code}`);
  const { status, headers, body } = response;
  return new Response(body, { status, headers: { 'content-type': headers['content-type'] ?? '' } });
}
