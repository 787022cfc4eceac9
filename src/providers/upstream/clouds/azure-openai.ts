/**
 * Azure OpenAI. Its `v1` API has the paths of OpenAI;
 * the older one names the deployment, the model or its alias, in the path.
 */
import { type CloudUse, parseBase } from '../account-url.ts';
import { bearer } from './bearer.ts';
import type { Cloud, CloudServices } from './cloud.ts';
import { entraToken } from './entra.ts';

const DEFAULT_VERSION = '2024-10-21';
/** Paths that belong to a deployment in the older API; the others belong to the resource. */
const OF_DEPLOYMENT = /^\/(?:chat\/completions|completions|embeddings|images\/|audio\/)/;

export function azureOpenAi(services: CloudServices, { account, cloud }: CloudUse): Cloud {
  const { origin, prefix } = parseBase(account.baseUrl);
  // Operators copy the address with or without its path.
  const resource = prefix.replace(/\/openai(?:\/v1)?$/, '');
  const isV1 = cloud.api !== 'deployments';
  const version = cloud.api_version ?? (isV1 ? undefined : DEFAULT_VERSION);
  const withVersion = (target: string): string => {
    const [path = '', query = ''] = target.split('?', 2);
    const rest = query.split('&').filter((part) => part !== '' && !part.startsWith('api-version='));
    const parts = version === undefined ? rest : [...rest, `api-version=${version}`];
    return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
  };
  const pathOf = (path: string, model: string): string => {
    const rest = path.replace(/^\/v1(?=\/)/, '');
    if (isV1) return `${resource}/openai/v1${rest}`;
    return OF_DEPLOYMENT.test(rest)
      ? `${resource}/openai/deployments/${encodeURIComponent(model)}${rest}`
      : `${resource}/openai${rest}`;
  };
  const token = bearer(services, { account, cloud }, entraToken);
  return {
    prepare: (request, { model }) => ({ ...request, origin, path: withVersion(pathOf(request.path, model)) }),
    sign: (request) =>
      cloud.auth === 'api-key'
        ? { ...request, headers: [...request.headers, 'api-key', account.credential] }
        : token.sign(request),
    forget: token.forget,
  };
}
