/** Client of the admin API. Fails when a response differs from its schema. */
import { assertShown } from './shown.ts';

export const ADMIN_TOKEN = 'the-admin-token-of-the-tests';

export interface AdminResponse<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: T;
}

export type AdminApi = <T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<AdminResponse<T>>;

/** `path` is relative to /admin/v1. */
export const adminApi =
  (url: () => string, token = ADMIN_TOKEN): AdminApi =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(`${url()}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const received = { status: response.status, body: isJson ? JSON.parse(text) : undefined };
    assertShown({ method, target: `/admin/v1${path}`, ...received });
    return { ...received, headers: response.headers, text };
  };
