/** Fixtures shared by the tests of all dialects. */
import assert from 'node:assert/strict';

export const WEATHER = {
  name: 'get_weather',
  description: 'Current weather of a city',
  schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
};
export const TIME = {
  name: 'get_time',
  description: 'Local time',
  schema: { type: 'object' as const, properties: {} },
};
export const QUESTION = 'What is the weather in Paris?';
export const CALLED = { city: 'Paris', unit: 'celsius' };
export const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

export function defined<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined);
  return value;
}
