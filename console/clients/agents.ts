/** Agent CLIs. */
import { type ClientInput, type ClientRow, exportKey, HELLO, npmProgram, pythonProgram, shellKey } from './client.ts';

export const AGENT_CLIENTS = {
  'claude-code': {
    name: 'Claude Code',
    operation: 'messages.create',
    ...npmProgram('@anthropic-ai/claude-code'),
    // Claude Code asks a small model for titles and summaries; without the fourth line it asks for one of Anthropic's.
    lines: ({ origin, model, key }) => `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${shellKey(key)}
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}
`,
    start: () => 'claude',
    once: () => `claude -p '${HELLO}'`,
  },
  codex: {
    name: 'Codex',
    operation: 'responses.create',
    ...npmProgram('@openai/codex'),
    lines: ({ key }) => exportKey(key),
    start: (input) => codexCommand('codex', input),
    once: (input) => `${codexCommand('codex exec --skip-git-repo-check', input)} \\\n  '${HELLO}'`,
  },
  'gemini-cli': {
    name: 'Gemini CLI',
    operation: 'generate.stream',
    ...npmProgram('@google/gemini-cli'),
    // With a base URL in the environment, Gemini CLI takes an API key only when its settings name that kind of sign-in.
    lines: ({ origin, key }) => `mkdir -p .gemini
test -e .gemini/settings.json || echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' > .gemini/settings.json
export GOOGLE_GEMINI_BASE_URL=${origin}
export GEMINI_API_KEY=${shellKey(key)}
export GEMINI_CLI_TRUST_WORKSPACE=true
`,
    start: ({ model }) => `gemini -m ${model}`,
    once: ({ model }) => `gemini -m ${model} -p '${HELLO}'`,
  },
  opencode: {
    name: 'opencode',
    operation: 'chat.create',
    ...npmProgram('opencode-ai'),
    lines: ({ origin, model, key }) => `${exportKey(key)}cat > opencode.json <<'END'
{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "dragoman": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Dragoman",
      "options": { "baseURL": "${origin}/v1", "apiKey": "{env:DRAGOMAN_KEY}" },
      "models": { "${model}": {} }
    }
  }
}
END
`,
    start: ({ model }) => `opencode -m dragoman/${model}`,
    once: ({ model }) => `opencode run -m dragoman/${model} '${HELLO}'`,
  },
  aider: {
    name: 'aider',
    operation: 'chat.create',
    ...pythonProgram('aider-chat'),
    lines: ({ origin, key }) => `export OPENAI_API_BASE=${origin}/v1
export OPENAI_API_KEY=${shellKey(key)}
`,
    start: ({ model }) => `aider --model openai/${model} --no-show-model-warnings`,
    once: ({ model }) =>
      `aider --model openai/${model} --no-show-model-warnings --no-git --yes-always --message '${HELLO}'`,
  },
} as const satisfies Readonly<Record<string, ClientRow>>;

const codexCommand = (command: string, { origin, model }: ClientInput): string => `${command} -m ${model} \\
  -c model_provider=dragoman \\
  -c 'model_providers.dragoman={name="Dragoman",base_url="${origin}/v1",env_key="DRAGOMAN_KEY",wire_api="responses"}'`;
