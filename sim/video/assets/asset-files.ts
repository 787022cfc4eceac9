/** The files of assets behind pre-signed URLs. The source is never fetched, so that a file only has the right type. */

import type { Chance } from '../../chance.ts';
import { gradientPng } from '../../png.ts';
import type { SimClock } from '../clock.ts';
import { writeMp4 } from '../mp4.ts';
import { rangeReply } from '../ranges.ts';
import { type Reply, xmlReply } from '../reply.ts';
import type { VideoSettings } from '../settings.ts';
import { compactTime, signedQuery } from '../signed-query.ts';
import type { Asset, Assets, AssetType } from './assets.ts';

const PATH = /^\/lib\/([\w-]+)\.(?:png|mp4|wav)$/;

interface FileServices {
  clock: SimClock;
  settings: VideoSettings;
  chance: Chance;
  assets: Assets;
  /** The origin of all URLs; known once the server listens. */
  origin: () => string;
}

interface FileForm {
  extension: string;
  type: string;
  write: () => Buffer;
}

const FORMS: Readonly<Record<AssetType, FileForm>> = {
  Image: { extension: 'png', type: 'image/png', write: () => gradientPng(320, 320, 128) },
  Video: { extension: 'mp4', type: 'video/mp4', write: () => writeMp4({ width: 640, height: 640, frames: 48 }) },
  Audio: { extension: 'wav', type: 'audio/wav', write: silence },
};

export class AssetFiles {
  readonly #services: FileServices;

  constructor(services: FileServices) {
    this.#services = services;
  }

  static accepts(path: string): boolean {
    return path.startsWith('/lib/');
  }

  /** A new URL with every call. */
  urlOf(asset: Asset): string {
    const { clock, settings, origin } = this.#services;
    const path = `/lib/${asset.id}.${FORMS[asset.type].extension}`;
    const date = compactTime(clock.now());
    const lifetimeMs = settings.assetUrlLifetimeMs;
    const expires = Math.floor(lifetimeMs / 1000);
    return `${origin()}${path}?${signedQuery(date, lifetimeMs, this.#sign(path, date, expires))}`;
  }

  read(method: string, path: string, query: URLSearchParams, headers: Readonly<Record<string, string>>): Reply {
    const date = query.get('X-Tos-Date') ?? '';
    const expires = Number(query.get('X-Tos-Expires'));
    if (method !== 'GET' || query.get('X-Tos-Signature') !== this.#sign(path, date, expires)) {
      return xmlReply(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match.');
    }
    const signedAt = Date.parse(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
    if (this.#services.clock.now() >= signedAt + expires * 1000)
      return xmlReply(403, 'AccessDenied', 'Request has expired.');
    const asset = this.#services.assets.get(PATH.exec(path)?.[1] ?? '');
    if (!asset) return xmlReply(404, 'NoSuchKey', 'The specified key does not exist.');
    const { type, write } = FORMS[asset.type];
    return rangeReply(write(), headers, { 'content-type': type, etag: `"${asset.id}"` });
  }

  #sign(path: string, date: string, expires: number): string {
    return this.#services.chance.hex(`${path}.${date}.${expires}`);
  }
}

/** Two seconds of silence as a WAV file, 8 bits at 8 kHz. */
function silence(): Buffer {
  const rate = 8000;
  const samples = Buffer.alloc(2 * rate, 128);
  const head = Buffer.from('RIFF....WAVEfmt ', 'latin1');
  head.writeUInt32LE(36 + samples.length, 4);
  const format = Buffer.alloc(20);
  format.writeUInt32LE(16, 0);
  // PCM, one channel, one byte per sample.
  for (const [at, value] of [1, 1].entries()) format.writeUInt16LE(value, 4 + 2 * at);
  format.writeUInt32LE(rate, 8);
  format.writeUInt32LE(rate, 12);
  for (const [at, value] of [1, 8].entries()) format.writeUInt16LE(value, 16 + 2 * at);
  const data = Buffer.from('data....', 'latin1');
  data.writeUInt32LE(samples.length, 4);
  return Buffer.concat([head, format, data, samples]);
}
