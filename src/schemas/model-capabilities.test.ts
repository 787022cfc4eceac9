import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADDED_OPTIONS, CHAT_FIELDS, CHAT_PRESETS } from '../rules/index.ts';
import { ModelCapabilities } from './model-capabilities.ts';

const LESSONS = ['remove', 'removeEach', 'set', 'read', 'withoutEffort', 'refuse'];

test('flags of servers are those that a model can have', () => {
  for (const [name, { flags }] of Object.entries(CHAT_PRESETS))
    assert.deepEqual(ModelCapabilities.parse(flags), flags, name);
});

test('lessons of rejected options set flags that a model can have', () => {
  for (const { option, path, message, lesson } of Object.values(ADDED_OPTIONS).flat()) {
    assert.ok(path !== '' && message.source.length > 5, option);
    const flags = 'set' in lesson ? lesson.set : 'read' in lesson ? lesson.otherwise : undefined;
    if (flags) assert.deepEqual(ModelCapabilities.parse(flags), flags, option);
    if ('read' in lesson) assert.match(lesson.read, /^(?:efforts|budget|maxOutput|room)$/);
    if ('refuse' in lesson) assert.ok(CHAT_FIELDS.includes(lesson.refuse), option);
    assert.ok(
      LESSONS.some((kind) => kind in lesson),
      option,
    );
  }
});
