import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubServerCall, JsonObject } from '../hub/types.ts';
import { decodeServerCall } from './server-tools.ts';

const call = (name: string, input: JsonObject, type: string, content: unknown): HubServerCall =>
  decodeServerCall({ type: 'server_tool_use', id: 'srvtoolu_1', name, input }, { type, content });

const fetched = (source: JsonObject): HubServerCall =>
  call('web_fetch', { url: 'https://a.example' }, 'web_fetch_tool_result', {
    type: 'web_fetch_result',
    url: 'https://a.example',
    content: { type: 'document', source },
  });

test('a fetched page is its text, and a file of another type is named by its type', () => {
  assert.equal(fetched({ type: 'text', media_type: 'text/plain', data: 'Page' }).output, 'Page');
  assert.equal(fetched({ type: 'content', content: [{ type: 'text', text: 'Part' }] }).output, 'Part');
  assert.equal(
    fetched({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }).output,
    '[application/pdf]',
  );
});

test('a failed call has the code of its failure, and a program its exit code', () => {
  const error = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };
  const failed = call('web_search', { query: 'q' }, 'web_search_tool_result', error);
  assert.deepEqual([failed.status, failed.output], ['failed', 'max_uses_exceeded']);
  const run = (return_code: number): string | undefined =>
    call('bash_code_execution', { command: 'ls' }, 'bash_code_execution_tool_result', {
      type: 'bash_code_execution_result',
      stdout: 'a',
      stderr: '',
      return_code,
    }).output;
  assert.deepEqual([run(0), run(2)], ['a', 'a\nexit code 2']);
});
