/** The object store of the provider: videos and last frames behind pre-signed URLs. */
import { createHash } from 'node:crypto';
import type { Chance } from '../chance.ts';
import { rgbPng } from '../png.ts';
import type { SimClock } from './clock.ts';
import { FRAMES_PER_SECOND } from './h264.ts';
import { writeMp4 } from './mp4.ts';
import { BAR_COUNT, colorAt } from './picture.ts';
import { rangeReply } from './ranges.ts';
import { type Reply, xmlReply } from './reply.ts';
import type { ImageFormat, VideoSettings } from './settings.ts';
import { compactTime, signedQuery } from './signed-query.ts';
import type { Task } from './task.ts';

type ObjectKind = 'video' | 'last_frame';

/** One signed URL. */
interface Grant {
  task: Task;
  kind: ObjectKind;
  expiresAt: number;
  downloads: number;
}

interface StoredFile {
  bytes: Buffer;
  type: string;
}

/** Files are made when they are read. A reader often sends several range requests for one file. */
const KEPT_FILES = 8;

export class Objects {
  readonly #clock: SimClock;
  readonly #settings: VideoSettings;
  readonly #chance: Chance;
  /** By path and query. */
  readonly #grants = new Map<string, Grant>();
  readonly #stableUrls = new Map<string, string>();
  readonly #files = new Map<string, StoredFile>();
  /** The origin of all URLs, such as `http://127.0.0.1:4010`; known once the server listens. */
  origin = '';

  constructor(clock: SimClock, settings: VideoSettings, chance: Chance) {
    this.#clock = clock;
    this.#settings = settings;
    this.#chance = chance;
  }

  urlsOf(task: Task): { video_url: string; last_frame_url?: string } {
    return {
      video_url: this.#urlOf(task, 'video'),
      ...(task.request.returnLastFrame && { last_frame_url: this.#urlOf(task, 'last_frame') }),
    };
  }

  /** The task whose result a URL belongs to, even after the URL expired. */
  taskOf(pathAndQuery: string): Task | undefined {
    return this.#grants.get(pathAndQuery)?.task;
  }

  /** Downloads so far, by URL. */
  get downloads(): Record<string, number> {
    return Object.fromEntries([...this.#grants].map(([key, { downloads }]) => [`${this.origin}${key}`, downloads]));
  }

  read(method: string, pathAndQuery: string, headers: Readonly<Record<string, string>>): Reply {
    const grant = this.#grants.get(pathAndQuery);
    // The signature covers the method, so that a HEAD request does not match it.
    if (!grant || method !== 'GET') {
      return xmlReply(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match.');
    }
    if (this.#clock.now() >= grant.expiresAt) return xmlReply(403, 'AccessDenied', 'Request has expired.');
    if (grant.downloads >= this.#settings.downloadLimit) {
      return xmlReply(403, 'AccessDenied', 'The number of downloads exceeds the limit.');
    }
    grant.downloads += 1;
    const { bytes, type } = this.#fileOf(grant);
    const etag = `"${createHash('md5').update(bytes).digest('hex')}"`;
    return rangeReply(bytes, headers, {
      'content-type': type,
      etag,
      'last-modified': new Date(grant.task.updatedAt).toUTCString(),
    });
  }

  #urlOf(task: Task, kind: ObjectKind): string {
    const mode = task.plan.urls ?? this.#settings.urls;
    const name = `${task.id}.${kind}`;
    const known = mode === 'renewed' ? undefined : this.#stableUrls.get(name);
    if (known !== undefined) return known;
    const signedAt = mode === 'renewed' ? this.#clock.now() : task.updatedAt;
    const key = this.#sign(name, this.#extension(task, kind), signedAt);
    const expiresAt = mode === 'dead' ? signedAt : signedAt + this.#settings.urlLifetimeMs;
    this.#grants.set(key, { task, kind, expiresAt, downloads: 0 });
    const url = `${this.origin}${key}`;
    if (mode !== 'renewed') this.#stableUrls.set(name, url);
    return url;
  }

  #sign(name: string, extension: string, signedAt: number): string {
    // The number makes two URLs of the same second differ.
    const signature = this.#chance.hex(`${name}.${signedAt}.${this.#grants.size}`);
    const query = signedQuery(compactTime(signedAt), this.#settings.urlLifetimeMs, signature);
    return `/obj/${this.#chance.hex(name).slice(0, 24)}.${extension}?${query}`;
  }

  #extension(task: Task, kind: ObjectKind): string {
    return kind === 'video' ? 'mp4' : this.#imageFormat(task);
  }

  #imageFormat(task: Task): ImageFormat {
    return task.plan.lastFrame ?? this.#settings.lastFrame;
  }

  #fileOf({ task, kind }: Grant): StoredFile {
    const key = `${task.id}.${this.#extension(task, kind)}`;
    const known = this.#files.get(key);
    if (known) return known;
    const file = kind === 'video' ? videoOf(task) : lastFrameOf(task, this.#imageFormat(task));
    this.#files.set(key, file);
    const oldest = this.#files.keys().next().value;
    if (this.#files.size > KEPT_FILES && oldest !== undefined) this.#files.delete(oldest);
    return file;
  }
}

const videoOf = ({ outcome, plan }: Task): StoredFile => {
  const video = writeMp4(outcome);
  const missing = (plan.fileBytes ?? 0) - video.length;
  return { bytes: missing < 8 ? video : Buffer.concat([video, padding(missing)]), type: 'video/mp4' };
};

/** A box that players skip. Its content has a pattern, so that a wrong part of the file is seen. */
function padding(length: number): Buffer {
  const bytes = Buffer.from(Uint32Array.from({ length: Math.ceil(length / 4) }, (_, n) => n).buffer, 0, length);
  bytes.writeUInt32BE(length, 0);
  bytes.write('free', 4, 'latin1');
  return bytes;
}

/** 16 by 16 pixels of one colour. */
const JPEG = Buffer.from(
  '/9j/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9j' +
    'QjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAQABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAA' +
    'AAAAAAAAAAP/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAABAb/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIR' +
    'AxEAPwC4Byff/9k=',
  'base64',
);

function lastFrameOf({ outcome: { width, height, frames, shift } }: Task, format: ImageFormat): StoredFile {
  const places = (shift + Math.floor((frames - 1) / FRAMES_PER_SECOND)) % BAR_COUNT;
  if (format === 'jpeg') return { bytes: JPEG, type: 'image/jpeg' };
  const row = Array.from({ length: width }, (_, x) => colorAt(x, width, places).rgb);
  return { bytes: rgbPng(width, height, (x) => row[x] ?? [0, 0, 0]), type: 'image/png' };
}
