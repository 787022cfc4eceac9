/** Clients of the official SDKs with only base URL, key and retries configured. */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';

export const openai = (url: string, key: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
export const openai6 = (url: string, key: string): OpenAI6 =>
  new OpenAI6({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
export const anthropic = (url: string, key: string): Anthropic =>
  new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
export const google = (url: string, key: string): GoogleGenAI =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
