/** An HTTP client for the tests of the video provider. */
import assert from 'node:assert/strict';

/** The fields of responses that the tests read. */
interface TestBody {
  id: string;
  status: string;
  error?: { code: string; message: string; param: string; type: string } | null;
  content: { video_url: string; last_frame_url?: string };
  usage?: { completion_tokens: number; total_tokens: number };
  items: TestBody[];
  total: number;
  [name: string]: unknown;
}

interface TestResponse {
  status: number;
  body: TestBody;
}

/** A client of one account. */
export class TestClient {
  readonly #url: string;
  readonly #key: string;

  constructor(baseUrl: string, key = 'sk-simulated') {
    this.#url = `${baseUrl}/contents/generations/tasks`;
    this.#key = key;
  }

  create(body: object, headers: Record<string, string> = {}): Promise<TestResponse> {
    const init = { method: 'POST', body: JSON.stringify(body), headers };
    return this.#send('', init);
  }

  /** Creates a task with this prompt and returns its id. */
  async order(prompt: string, more: object = {}): Promise<string> {
    const { status, body } = await this.create(textBody(prompt, more));
    assert.equal(status, 200, JSON.stringify(body));
    return body.id;
  }

  get(id: string): Promise<TestResponse> {
    return this.#send(`/${id}`);
  }

  async statusOf(id: string): Promise<string> {
    return (await this.get(id)).body.status;
  }

  list(query = ''): Promise<TestResponse> {
    return this.#send(query);
  }

  remove(id: string): Promise<TestResponse> {
    return this.#send(`/${id}`, { method: 'DELETE' });
  }

  async #send(path: string, init: RequestInit = {}): Promise<TestResponse> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${this.#key}`, ...init.headers };
    const response = await fetch(this.#url + path, { ...init, headers });
    return { status: response.status, body: (await response.json()) as TestBody };
  }
}

export const textBody = (prompt: string, more: object = {}): object => ({
  model: 'up-video-2-0',
  content: [{ type: 'text', text: prompt }],
  ...more,
});
