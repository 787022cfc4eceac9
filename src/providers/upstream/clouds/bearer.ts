/** Requests with an access token of the account. */
import type { HttpRequest } from '../../../platform/http/index.ts';
import type { CloudUse } from '../account.ts';
import type { CloudServices } from './cloud.ts';
import type { Expiring } from './token-cache.ts';

/** A token is for all calls of the account. */
export type CloudIdentity = Pick<CloudUse, 'account' | 'cloud'>;

export interface Bearer {
  sign(request: HttpRequest): HttpRequest | Promise<HttpRequest>;
  forget(): void;
}

export function bearer(
  services: CloudServices,
  identity: CloudIdentity,
  fetch: (services: CloudServices, identity: CloudIdentity) => Promise<Expiring<string>>,
): Bearer {
  const { account, cloud } = identity;
  const text = JSON.stringify([cloud, account.credential, account.proxy]);
  const signed = (request: HttpRequest, token: string): HttpRequest => ({
    ...request,
    headers: [...request.headers, 'authorization', `Bearer ${token}`],
  });
  return {
    sign(request) {
      const token = services.tokens.get(account.id, text, () => fetch(services, identity));
      return token instanceof Promise ? token.then((value) => signed(request, value)) : signed(request, token);
    },
    forget: () => services.tokens.forget(account.id),
  };
}
