/** Readers of MP4 files and an HTTP client, for the tests of the video provider. */
import assert from 'node:assert/strict';

interface Box {
  type: string;
  content: Buffer;
}

/** The boxes of a file, or of the content of another box. */
export function boxesOf(content: Buffer): Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at < content.length; ) {
    const length = content.readUInt32BE(at);
    assert.ok(length >= 8 && at + length <= content.length, `box of ${length} bytes at ${at}`);
    boxes.push({ type: content.toString('latin1', at + 4, at + 8), content: content.subarray(at + 8, at + length) });
    at += length;
  }
  return boxes;
}

interface Mp4Info {
  width: number;
  height: number;
  frames: number;
  seconds: number;
  /** Numbered from 1. */
  keyFrames: number[];
  /** The size in the bit stream itself, after cropping. */
  shown: [number, number];
}

export function mp4Info(file: Buffer): Mp4Info {
  const header = find(file, 'moov', 'mvhd');
  const table = find(file, 'moov', 'trak', 'mdia', 'minf', 'stbl');
  const track = find(file, 'moov', 'trak', 'tkhd');
  const sizes = find(table, 'stsz');
  const keys = find(table, 'stss');
  return {
    width: track.readUInt32BE(76) / 0x10000,
    height: track.readUInt32BE(80) / 0x10000,
    frames: sizes.readUInt32BE(8),
    seconds: header.readUInt32BE(16) / header.readUInt32BE(12),
    keyFrames: Array.from({ length: keys.readUInt32BE(4) }, (_, index) => keys.readUInt32BE(8 + 4 * index)),
    shown: codedSize(find(table, 'stsd').subarray(8)),
  };
}

function find(content: Buffer, ...path: string[]): Buffer {
  return path.reduce((inside, type) => {
    const found = boxesOf(inside).find((box) => box.type === type);
    assert.ok(found, `no box ${type}`);
    return found.content;
  }, content);
}

/** The cropped size in the sequence parameters of a sample entry. */
function codedSize(entry: Buffer): [number, number] {
  const video = find(entry, 'avc1');
  const configuration = find(video.subarray(78), 'avcC');
  const length = configuration.readUInt16BE(6);
  const bits = [
    ...configuration
      .subarray(8, 8 + length)
      .toString('latin1')
      .replaceAll('\0\0\x03', '\0\0'),
  ]
    .map((byte) => byte.charCodeAt(0).toString(2).padStart(8, '0'))
    .join('');
  // After the header, profile, flags and level.
  let at = 32;
  const take = (count: number) => {
    at += count;
    return Number.parseInt(bits.slice(at - count, at), 2);
  };
  const unsigned = () => {
    const zeros = bits.indexOf('1', at) - at;
    at += zeros;
    return take(zeros + 1) - 1;
  };
  for (let skipped = 0; skipped < 4; skipped++) unsigned();
  take(1);
  const size: [number, number] = [(unsigned() + 1) * 16, (unsigned() + 1) * 16];
  take(2);
  if (take(1) === 0) return size;
  const [left, right, top, bottom] = [unsigned(), unsigned(), unsigned(), unsigned()];
  return [size[0] - 2 * (left + right), size[1] - 2 * (top + bottom)];
}

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
