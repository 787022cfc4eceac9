import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS } from '../errors.ts';
import { VIDEO_VARIANTS } from '../groups.ts';
import { sheetOf } from './capabilities.ts';
import { isReference, MEDIA_ITEMS, MEDIA_ROLES, parseReference } from './content.ts';
import { IDEMPOTENCY, LIST_LIMIT, TASK_EXPIRY_SECONDS, TASK_LIST } from './limits.ts';
import { TASK_FIELDS, VIDEO_PARAMETERS } from './parameters.ts';
import { deletionOf } from './sheet.ts';
import { CALLBACK_INFO, knownFormats, VARIANT_SHEETS } from './sheets.ts';
import { maxArea, PIXEL_SIZES, RATIOS, RESOLUTIONS, sizeNamed, sizeText } from './sizes.ts';
import { canMove, isTerminal, TASK_PROGRESS, TASK_STATUSES } from './status.ts';

test('V 0 models: every variant has a sheet, and EP and HC differ only in their assets', () => {
  assert.deepEqual(Object.keys(VARIANT_SHEETS), [...VIDEO_VARIANTS]);
  const { assets: epAssets, ...ep } = VARIANT_SHEETS.EP;
  const { assets: hcAssets, ...hc } = VARIANT_SHEETS.HC;
  assert.deepEqual(ep, hc);
  assert.deepEqual([epAssets.space, epAssets.hasGroups], ['EP', true]);
  assert.deepEqual([hcAssets.space, hcAssets.hasGroups], ['HC', false]);
});

test('V 1 modes: each variant is an asset space of its own, and only A deletes assets and has sessions', () => {
  for (const variant of VIDEO_VARIANTS) {
    const { space, isDeletable, hasRealPersonSessions } = VARIANT_SHEETS[variant].assets;
    assert.equal(space, variant);
    assert.equal(isDeletable, variant === 'A');
    assert.equal(hasRealPersonSessions, variant === 'A');
  }
});

test('V 2 task: statuses are six words, progress is 0, 50 and 100, and only A shows seed and framespersecond', () => {
  assert.deepEqual(TASK_STATUSES, ['queued', 'running', 'cancelled', 'succeeded', 'failed', 'expired']);
  assert.deepEqual(TASK_PROGRESS, { queued: 0, running: 50, succeeded: 100 });
  assert.deepEqual(VARIANT_SHEETS.A.taskFields, ['seed', 'framespersecond']);
  assert.deepEqual(VARIANT_SHEETS.EP.taskFields, []);
});

test('V 3 task: a task moves forward only, and no terminal status is left', () => {
  const moves = TASK_STATUSES.flatMap((from) =>
    TASK_STATUSES.filter((to) => canMove(from, to)).map((to) => `${from} ${to}`),
  );
  assert.deepEqual(moves.sort(), [
    'queued cancelled',
    'queued expired',
    'queued failed',
    'queued running',
    'queued succeeded',
    'running cancelled',
    'running expired',
    'running failed',
    'running succeeded',
  ]);
  assert.deepEqual(TASK_STATUSES.filter(isTerminal), ['cancelled', 'succeeded', 'failed', 'expired']);
});

test('V 3 task: DELETE has one outcome for every variant and status', () => {
  const outcomes = (variant: 'A' | 'EP' | 'HC', canCancel: boolean) =>
    Object.fromEntries(
      TASK_STATUSES.map((status) => [status, deletionOf(sheetOf(variant, { cancel_queued: canCancel }), status)]),
    );
  const removed = { cancelled: 'remove', succeeded: 'remove', failed: 'remove', expired: 'remove' };
  assert.deepEqual(outcomes('A', true), { queued: 'cancel', running: 'task_not_cancellable', ...removed });
  assert.deepEqual(outcomes('A', false), {
    queued: 'task_cancel_not_supported',
    running: 'task_not_cancellable',
    ...removed,
  });
  for (const variant of ['EP', 'HC'] as const)
    for (const canCancel of [true, false])
      for (const status of TASK_STATUSES)
        assert.equal(
          deletionOf(sheetOf(variant, { cancel_queued: canCancel }), status),
          isTerminal(status) ? 'task_delete_not_supported' : 'task_cancel_not_supported',
        );
  assert.equal(ERRORS.task_not_cancellable.status, 409);
  assert.equal(ERRORS.task_delete_not_supported.status, 400);
});

test('V 4.1 role: every role belongs to exactly one content item, and only a lone image has a default role', () => {
  const roles = Object.values(MEDIA_ITEMS).flatMap((item): readonly string[] => item.roles);
  assert.deepEqual(roles, [...MEDIA_ROLES]);
  const defaults = Object.entries(MEDIA_ITEMS).flatMap(([type, item]) =>
    'loneRole' in item ? [[type, item.loneRole]] : [],
  );
  assert.deepEqual(defaults, [['image_url', 'first_frame']]);
});

test('V 4.1 ref: a reference names an asset or a character and nothing else', () => {
  assert.deepEqual(parseReference('asset://asset_9aZ'), { id: 'asset_9aZ', form: 'asset' });
  assert.deepEqual(parseReference('asset://char_1'), { id: 'char_1', form: 'character' });
  for (const text of [
    'asset://',
    'asset://x',
    'asset://asset_',
    'asset://assetgrp_1',
    'asset://task_1',
    'asset://asset_1/2',
    'asset://asset_1?x=1',
    'asset://asset_1#x',
    'asset://asset_1 ',
    ' asset://asset_1',
    'asset://asset-20260224200602-qn7wr',
    'ASSET://asset_1',
    'asset://ASSET_1',
    'asset:asset_1',
    'asset://asset_1\n',
    `asset://asset_${'a'.repeat(65)}`,
  ]) {
    assert.equal(parseReference(text), undefined, text);
    assert.ok(isReference(text), text);
  }
  for (const text of ['https://a.example/asset://asset_1', 'assets://asset_1', '']) assert.ok(!isReference(text), text);
});

test('V 4.1 image, audio: formats by variant', () => {
  for (const { inlineMedia } of Object.values(VARIANT_SHEETS)) {
    assert.deepEqual(inlineMedia.image.formats, ['jpeg', 'png', 'webp', 'bmp', 'tiff', 'gif']);
    assert.equal(inlineMedia.image.maxBytes, 31_457_279);
    assert.equal(inlineMedia.audio.maxBytes, 15_728_640);
  }
  assert.deepEqual(VARIANT_SHEETS.A.inlineMedia.audio.formats, ['wav', 'mp3']);
  assert.deepEqual(VARIANT_SHEETS.HC.inlineMedia.audio.formats, ['wav', 'mp3', 'mpeg']);
  assert.deepEqual([...knownFormats('audio')], ['wav', 'mp3', 'mpeg']);
});

test('V 4.2: every parameter has a rule in every sheet, and B supports seven of the document and one more', () => {
  for (const { parameters } of Object.values(VARIANT_SHEETS))
    assert.deepEqual(Object.keys(parameters).sort(), [...VIDEO_PARAMETERS].sort());
  const supported = VIDEO_PARAMETERS.filter((name) => VARIANT_SHEETS.EP.parameters[name]?.kind !== 'unsupported');
  assert.deepEqual(supported, [
    'duration',
    'resolution',
    'ratio',
    'generate_audio',
    'watermark',
    'return_last_frame',
    'callback_url',
    'safety_identifier',
  ]);
  const rejected = VIDEO_PARAMETERS.filter((name) => VARIANT_SHEETS.A.parameters[name]?.kind === 'rejected');
  assert.deepEqual(rejected, ['camera_fixed', 'draft', 'priority']);
  assert.deepEqual(TASK_FIELDS, ['model', 'content']);
});

test('V 4.2 resolution: a model offers what its variant has, less for fast and mini, less by its capabilities', () => {
  assert.deepEqual(sheetOf('A').resolutions, ['480p', '720p', '1080p']);
  assert.deepEqual(sheetOf('A', { resolutions: ['4k', '720p'] }).resolutions, ['720p']);
  assert.deepEqual(sheetOf('EP').resolutions, [...RESOLUTIONS]);
  assert.deepEqual(sheetOf('EP', {}, 'demo-video-2-0-260128').resolutions, [...RESOLUTIONS]);
  for (const model of ['demo-video-2-0-fast-260128', 'demo-video-2-0-mini-ep', 'demo-video-2-0-fast'])
    assert.deepEqual(sheetOf('EP', {}, model).resolutions, ['480p', '720p'], model);
  assert.deepEqual(sheetOf('HC', { resolutions: ['1080p'] }, 'x-mini-hc').resolutions, ['1080p']);
  assert.deepEqual(sheetOf('HC').ratios, [...RATIOS]);
  assert.deepEqual(sheetOf('HC', { ratios: ['adaptive', '16:9'] }).ratios, ['16:9', 'adaptive']);
});

test('V 3 task: a model can cancel queued tasks unless its capabilities exclude it', () => {
  assert.equal(sheetOf('A').cancelQueued, true);
  assert.equal(sheetOf('A', { cancel_queued: false }).cancelQueued, false);
});

test('V 8 billing: the default duration of a model is unknown unless its capabilities state it', () => {
  assert.equal(sheetOf('EP').defaultDuration, undefined);
  assert.equal(sheetOf('EP', { default_duration: 5 }).defaultDuration, 5);
});

test('V 4.7 size: every size text names one resolution and ratio, and the largest area of a resolution is known', () => {
  const areas = { '480p': 428_544, '720p': 927_408, '1080p': 2_086_876, '4k': 8_295_044 };
  let sizes = 0;
  for (const resolution of RESOLUTIONS) {
    assert.equal(maxArea(resolution, 'adaptive'), areas[resolution]);
    assert.equal(maxArea(resolution, undefined), areas[resolution]);
    for (const ratio of RATIOS) {
      if (ratio === 'adaptive') continue;
      sizes += 1;
      const [width, height] = PIXEL_SIZES[resolution][ratio];
      assert.equal(maxArea(resolution, ratio), width * height);
      assert.deepEqual(sizeNamed(sizeText(resolution, ratio) ?? ''), { resolution, ratio });
    }
  }
  assert.equal(sizes, 24);
  assert.equal(sizeText('720p', '16:9'), '1280x720');
  assert.equal(sizeNamed('1280X720'), undefined);
  assert.equal(sizeNamed('1792x1024'), undefined);
});

test('V 4.4, V 6, V 8: list limits, windows, expiry and signing have the values of the contract', () => {
  assert.deepEqual(
    VIDEO_VARIANTS.map((variant) => VARIANT_SHEETS[variant].listDays),
    [undefined, 7, 7],
  );
  assert.deepEqual(TASK_LIST.pageNumber, { min: 1, max: 500, default: 1 });
  assert.deepEqual(TASK_LIST.pageSize, { min: 1, max: 500, default: 20 });
  assert.equal(TASK_LIST.maxTaskIds, 100);
  assert.deepEqual(LIST_LIMIT, { min: 1, max: 100, default: 20 });
  assert.equal(IDEMPOTENCY.keyBytes, 64);
  assert.deepEqual(TASK_EXPIRY_SECONDS, { default: 172_800, grace: 15 * 60 });
  for (const { callbackInfo } of Object.values(VARIANT_SHEETS)) assert.equal(callbackInfo, CALLBACK_INFO);
  assert.equal(CALLBACK_INFO, 'gateway-video-callback-v1');
});
