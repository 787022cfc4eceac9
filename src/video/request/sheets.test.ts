/**
 * A walk over every sheet: what it names is accepted,
 * what lies just outside is rejected by name, and -1 holds the longest video.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageItem, mediaOfRole, TEXT, taskBody, verdictOf } from '../../../test/support/video-request.ts';
import * as rules from '../../rules/index.ts';
import { maxCostOfTask } from '../tasks/max-cost.ts';
import { examineTaskBody } from './examine.ts';

/** Sheets as operators write them, beside the built-in ones. */
const WRITTEN: Readonly<Record<string, rules.SheetChanges>> = {
  'a list of lengths': {
    durations: [8, 4, 6],
    automatic_duration: false,
    sizes: { '768p': { '16:9': '1366x768', '3:2': '1152x768' } },
    resolutions: ['768p'],
    ratios: ['16:9', '3:2'],
    references: { reference_image: 3, reference_video: 0 },
    members: { enhance: true, camera: ['slow', 'fast'], strength: { min: 1, max: 9 }, seed: false },
    conditions: [{ when: { role: 'reference_image' }, only: { duration: [8] } }],
  },
  'a longer Seedance': { extends: 'seedance-2.5', durations: { min: 2, max: 60 }, input_video_seconds: 60 },
};
const SHEETS: readonly (readonly [string, rules.VideoSheet])[] = [
  ...Object.entries(rules.VIDEO_SHEETS),
  ...Object.entries(WRITTEN).map(([name, changes]) => [name, rules.sheetOf('A', changes)] as const),
];

const verdict = (sheet: rules.VideoSheet, members: object, entry: 'tasks' | 'videos' = 'tasks') =>
  verdictOf(examineTaskBody(Buffer.from(JSON.stringify(members)), entry, { sheet }));
const judge = (sheet: rules.VideoSheet, members: Record<string, unknown>): string => {
  const { error, upstream } = verdict(sheet, taskBody(members));
  if (error) return `${error.code} ${error.param}`;
  // Ours replace the callback and the name of the user, and what a provider does by itself is not sent.
  for (const [name, value] of Object.entries(members))
    if (
      !['content', 'callback_url', 'safety_identifier'].includes(name) &&
      !['default', '[]'].includes(JSON.stringify(value).replaceAll('"', ''))
    )
      assert.deepEqual(upstream?.[name], value, `${name} reaches the provider`);
  return 'ok';
};

/** Values at the edges of a rule, and values just outside. */
function edges(sheet: rules.VideoSheet, rule: rules.ParameterRule): { inside: unknown[]; outside: unknown[] } {
  switch (rule.kind) {
    case 'integer': {
      const { min, max, values = [min, max], automatic } = rule;
      const chosen = automatic ? [automatic.value] : [];
      return automatic?.isSupported
        ? { inside: [...values, ...chosen], outside: [min - 1, max + 1, min + 0.5, String(min)] }
        : { inside: [...values], outside: [...chosen, min - 1, max + 1, ...(rule.values ? [max - 1] : []), true] };
    }
    case 'boolean':
      return { inside: [true, false], outside: [0, 'true'] };
    case 'offered': {
      const offered: readonly string[] = sheet[rule.capability];
      const all: readonly string[] =
        rule.capability === 'ratios' ? rules.RATIO_WORDS : [...rules.RESOLUTION_WORDS, '8k'];
      return { inside: [...offered], outside: [...all.filter((word) => !offered.includes(word)), 1, ''] };
    }
    case 'word':
      return { inside: [...rule.accepted], outside: [`${rule.accepted[0]}x`, '', 1] };
    case 'tools':
      return {
        inside: [[], [{ type: rule.types[0] }]],
        outside: [[{ type: 'other' }], Array(rule.maxItems + 1).fill({})],
      };
    case 'text':
      return { inside: ['x'], outside: [1, 'x'.repeat(rule.maxLength + 1)] };
    case 'public-url':
      return { inside: ['https://media.example.com/b'], outside: ['http://media.example.com/b', 1] };
    default:
      return { inside: [], outside: [false, 0, 'x'] };
  }
}

/** What the conditions of a sheet demand beside a value, for it to be accepted. */
function beside(sheet: rules.VideoSheet, name: string, value: unknown): Record<string, unknown> {
  const needs = sheet.conditions.flatMap((one) => (one.when[name] === value ? (one.needs ?? []) : []));
  return needs.length === 0 ? {} : { content: [TEXT, ...needs.map((role) => mediaOfRole(role))] };
}

for (const [title, sheet] of SHEETS) {
  test(`sheet ${title}: every value of its members is accepted, and every value outside is rejected with the name`, () => {
    for (const name of rules.sheetMembers(sheet)) {
      const rule = sheet.parameters[name];
      assert.ok(rule, name);
      const { inside, outside } = edges(sheet, rule);
      for (const value of inside)
        assert.equal(judge(sheet, { [name]: value, ...beside(sheet, name, value) }), 'ok', `${name} ${value}`);
      for (const value of outside)
        assert.match(
          judge(sheet, { [name]: value }),
          new RegExp(`^(?:invalid_request|unsupported_video_parameter) ${name}\\b`),
          `${name} ${value}`,
        );
    }
  });

  test(`sheet ${title}: a member that it lacks is unknown, by its name`, () => {
    const known = new Set(SHEETS.flatMap(([, other]) => rules.sheetMembers(other)));
    for (const name of [...known, 'fps', 'negative_prompt'])
      if (!Object.hasOwn(sheet.parameters, name))
        assert.equal(judge(sheet, { [name]: 1 }), `invalid_request ${name}`, name);
  });

  test(`sheet ${title}: as many items of a role as it takes are accepted, and one more is rejected at its role`, () => {
    const { maxItems, companions } = sheet.combinations;
    for (const role of rules.MEDIA_ROLES) {
      const max = maxItems[role] ?? 20;
      const helpers = companions.flatMap((rule) => (rule.role === role ? rule.oneOf.slice(0, 1) : []));
      const content = (count: number) => [
        ...[...helpers, ...Array<rules.MediaRole>(count).fill(role)].map(mediaOfRole),
      ];
      if (max > 0) assert.equal(judge(sheet, { content: content(max) }), 'ok', role);
      if (maxItems[role] === undefined) continue;
      const at = `unsupported_video_parameter content[${helpers.length + max}].role`;
      assert.equal(judge(sheet, { content: content(max + 1) }), at, role);
    }
  });

  test(`sheet ${title}: a value that a condition excludes is rejected with its name`, () => {
    for (const { when, only = {}, needs } of sheet.conditions) {
      const { role, ...members } = when;
      const roles = [...(role === undefined ? [] : [role as rules.MediaRole]), ...(needs ? [needs] : [])];
      const content = [TEXT, ...roles.map(mediaOfRole)];
      assert.equal(judge(sheet, { ...members, content }), 'ok');
      if (needs) assert.equal(judge(sheet, members), `unsupported_video_parameter ${Object.keys(members)[0]}`);
      for (const [name, values] of Object.entries(only)) {
        const rule = sheet.parameters[name];
        assert.ok(rule, name);
        for (const value of values) assert.equal(judge(sheet, { ...members, content, [name]: value }), 'ok');
        const other = edges(sheet, rule).inside.find((value) => !values.includes(value as rules.MemberValue));
        assert.equal(judge(sheet, { ...members, content, [name]: other }), `unsupported_video_parameter ${name}`);
      }
    }
  });

  test(`sheet ${title}: the sizes of what it offers become resolution and ratio`, () => {
    for (const resolution of sheet.resolutions)
      for (const ratio of sheet.ratios) {
        if (ratio === 'adaptive') continue;
        const size = rules.sizeText(resolution, ratio, sheet.sizes) ?? '';
        const { upstream } = verdict(sheet, { model: 'm', prompt: 'a lamp', size }, 'videos');
        assert.deepEqual([upstream?.resolution, upstream?.ratio], [resolution, ratio], size);
      }
  });

  test(`sheet ${title}: without a length or with -1, the longest video is held, and the longest input of videos`, () => {
    const rates = { video: 1_000_000n } as const;
    const { max } = sheet.parameters.duration;
    const frames = (members: object) => {
      const { request, error } = verdict(sheet, taskBody(members as never));
      assert.ok(request, JSON.stringify(error));
      return maxCostOfTask({ ...request, ...request.parameters }, sheet, rates, [1_000_000n]).frames;
    };
    const longest = sheet.framesPerSecond * max + 1;
    // A default that is sent is what the provider makes.
    const usual = sheet.defaults ? (sheet.defaultDuration ?? max) : max;
    assert.equal(frames({}), sheet.framesPerSecond * usual + 1);
    assert.equal(frames({ duration: max }), longest);
    if (sheet.parameters.duration.automatic?.isSupported) assert.equal(frames({ duration: -1 }), longest);
    if (sheet.combinations.maxItems.reference_video !== 0)
      assert.equal(
        frames({ content: [TEXT, mediaOfRole('reference_video')] }),
        longest + sheet.framesPerSecond * sheet.inputVideoSeconds,
      );
  });
}

test('Seedance 2.5 has its sheet by name in every variant: 4 to 30 seconds, 30, 10 and 10 references, audio alone', () => {
  for (const variant of rules.VIDEO_VARIANTS)
    for (const model of ['doubao-seedance-2-5-260628', 'dreamina-seedance-2-5-260628', 'seedance-2.5']) {
      const { parameters, combinations, resolutions, inputVideoSeconds } = rules.sheetOf(variant, {}, model);
      assert.deepEqual([parameters.duration.min, parameters.duration.max, inputVideoSeconds], [4, 30, 30]);
      assert.deepEqual(resolutions, ['480p', '720p', '1080p']);
      const { reference_image, reference_video, reference_audio } = combinations.maxItems;
      assert.deepEqual([reference_image, reference_video, reference_audio], [30, 10, 10]);
    }
  const sheet = rules.VIDEO_SHEETS['seedance-2.5'];
  assert.equal(judge(sheet, { content: [TEXT, mediaOfRole('reference_audio')] }), 'ok');
  assert.equal(
    judge(sheet, { content: [TEXT, imageItem('first_frame')], ratio: '16:9' }),
    'unsupported_video_parameter ratio',
  );
  assert.equal(rules.sheetOf('A', {}, 'demo-video-2-50').parameters.duration.max, 15);
});

test('a size that a condition excludes is reported under the name that the request has', () => {
  const sheet = rules.VIDEO_SHEETS['seedance-2.5'];
  const body = { model: 'm', prompt: 'a lamp', size: '1280x720', input_reference: 'https://media.example.com/b.png' };
  assert.equal(verdict(sheet, body, 'videos').error?.param, 'size');
});
