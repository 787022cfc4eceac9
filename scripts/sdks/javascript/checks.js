/** Runs the checks of one SDK and prints the result of each as a line of JSON. */
import assert from 'node:assert/strict';

export const {
  GATEWAY_URL: url,
  GATEWAY_KEY: key,
  /** The style of the key's group: responses, messages or generate. */
  GATEWAY_GROUP: group,
} = process.env;
export const WRONG_KEY = 'dg-wrong';

export const TOOL = 'get_weather';
export const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
export const PROMPT = 'Use get_weather for "Paris".';
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export async function check(name, run) {
  try {
    await run();
    console.log(JSON.stringify({ name }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: `${error?.name}: ${error?.message}` }));
  }
}

export const assertSimulated = (text) => assert.match(text ?? '', /simulated answer/);
