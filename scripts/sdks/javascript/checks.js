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

export const PDF = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 1/Kids[]>>endobj\n%%EOF',
);

/** The value of `load` once `isDone` holds for it. */
export async function when(load, isDone) {
  for (;;) {
    const value = await load();
    if (isDone(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Every id of a list, page after page. */
export async function idsOf(pages) {
  const ids = [];
  for await (const { id } of pages) ids.push(id);
  assert.equal(new Set(ids).size, ids.length);
  return ids;
}

export async function check(name, run) {
  try {
    await run();
    console.log(JSON.stringify({ name }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: `${error?.name}: ${error?.message}` }));
  }
}

export const assertSimulated = (text) => assert.match(text ?? '', /simulated answer/);
