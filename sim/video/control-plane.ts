/** The asset library of the provider, `/?Action=...`. It is not simulated yet: every action is an error. */
import type { VideoCall } from './call.ts';
import { jsonReply } from './reply.ts';

const VERSION = '2024-01-01';

export class ControlPlane {
  static accepts(path: string, query: URLSearchParams): boolean {
    return path === '/' && query.has('Action');
  }

  async serve(call: VideoCall): Promise<void> {
    call.entry.operation = 'control';
    const action = call.query.get('Action') ?? '';
    const metadata = {
      RequestId: call.requestId,
      Action: action,
      Version: call.query.get('Version') ?? VERSION,
      Service: 'ark',
      Region: 'cn-beijing',
      Error: { Code: 'NotImplemented', Message: `The simulated provider does not implement ${action}.` },
    };
    await call.deliver(jsonReply({ ResponseMetadata: metadata }, 501));
  }
}
