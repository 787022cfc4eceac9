import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAT_PRESET_NAMES, CHAT_PRESETS, chatPresetOf, chatServerChoices } from './chat-presets.ts';

test('chatPresetOf knows a server by its host, and any other as generic', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['https://api.openai.com/v1', 'openai'],
    ['https://acme.openai.azure.com/openai/v1', 'openai'],
    ['https://api.deepseek.com', 'deepseek'],
    ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'qwen'],
    ['https://api.mistral.ai/v1', 'mistral'],
    ['https://api.groq.com/openai/v1', 'groq'],
    ['https://api.together.xyz/v1', 'together'],
    ['https://openrouter.ai/api/v1', 'openrouter'],
    ['https://api.x.ai/v1', 'xai'],
    ['https://api.moonshot.cn/v1', 'moonshot'],
    ['https://api.z.ai/api/paas/v4', 'zai'],
    ['https://api.minimaxi.com/v1', 'minimax'],
    ['https://api.fireworks.ai/inference/v1', 'fireworks'],
    ['https://api.cerebras.ai/v1', 'cerebras'],
    ['https://api.cohere.ai/compatibility/v1', 'cohere'],
    ['https://api.perplexity.ai', 'perplexity'],
    ['https://router.huggingface.co/v1', 'huggingface'],
    ['https://api.deepinfra.com/v1/openai', 'deepinfra'],
    ['https://integrate.api.nvidia.com/v1', 'nvidia'],
    ['https://acme-eu.snowflakecomputing.com/api/v2/cortex/v1', 'snowflake'],
    ['https://acme.services.ai.azure.com/openai/v1', 'foundry'],
    ['http://gpu-box:11434/v1', 'ollama'],
    ['http://localhost:1234/v1', 'lmstudio'],
    ['https://api.deepseek.com.example.test/v1', 'generic'],
    ['http://10.0.0.7:8000/v1', 'generic'],
  ];
  assert.deepEqual(
    cases.map(([url]) => [url, chatPresetOf(url)]),
    cases,
  );
});

test('chatPresetOf prefers the preset that the operator names', () => {
  assert.equal(chatPresetOf('https://api.deepseek.com', 'vllm'), 'vllm');
});

test('every preset but openai states what the smallest server is known for', () => {
  const required = Object.keys(CHAT_PRESETS.generic.flags);
  for (const name of CHAT_PRESET_NAMES.filter((one) => one !== 'openai'))
    assert.deepEqual(
      required.filter((flag) => !(flag in CHAT_PRESETS[name].flags)),
      [],
      name,
    );
});

test('chatServerChoices begins every account with an address that has the chosen preset', () => {
  const choices = chatServerChoices();
  assert.deepEqual(
    choices.map(({ preset }) => preset),
    CHAT_PRESET_NAMES,
  );
  for (const { preset, baseUrl, features } of choices) {
    if (preset === 'generic') continue;
    assert.ok(['generic', preset].includes(chatPresetOf(baseUrl ?? '')), `${preset}: ${baseUrl}`);
    assert.deepEqual(features, preset === 'openai' ? undefined : ['chat']);
  }
});
