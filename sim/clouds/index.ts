/** The clouds on the port of the simulated providers, told apart by their paths. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { azureCall, azureToken, type Certificates } from './azure.ts';
import { awsToken, bedrockCall } from './bedrock.ts';
import type { CloudCall, TokenAnswer, TokenCall } from './cloud-call.ts';
import { googleToken, vertexCall } from './vertex.ts';

export { AZURE } from './azure.ts';
export { BEDROCK } from './bedrock.ts';
export { GUARDRAIL } from './converse.ts';
export { serviceAccountKey, VERTEX } from './vertex.ts';

/** What tests register, and what they count. */
export class Clouds {
  /** Certificates of the application at Azure, by its id. */
  readonly certificates: Certificates = new Map();
  /** Requests for tokens, the newest last. */
  readonly tokenCalls: { readonly path: string; readonly status: number }[] = [];
  /** Token services respond with this status, as while they are down. */
  outage: number | undefined;

  call(path: string): CloudCall | undefined {
    return azureCall(path) ?? vertexCall(path) ?? bedrockCall(path);
  }

  /** Whether the request was for a token. */
  async serveToken(request: IncomingMessage, response: ServerResponse, origin: string): Promise<boolean> {
    const url = new URL(request.url ?? '/', origin);
    if (!TOKEN_PATHS.test(url.pathname)) return false;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = Buffer.concat(chunks).toString('utf8');
    const call = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.search.slice(1),
      headers,
      body,
      url: url.href,
    };
    const answer = this.outage === undefined ? this.#answer(call) : { status: this.outage, body: {} };
    this.tokenCalls.push({ path: url.pathname, status: answer.status });
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    return true;
  }

  #answer(call: TokenCall): TokenAnswer {
    return (
      azureToken(call, this.certificates) ??
      googleToken(call) ??
      awsToken(call) ?? { status: 404, body: { error: 'not_found' } }
    );
  }
}

const TOKEN_PATHS =
  /\/oauth2\/(?:v2\.0\/)?token$|^\/google\/token$|^\/v1\/token$|^\/computeMetadata\/|:generateAccessToken$|^\/latest\/|^\/aws-/;
