/** The test of an account: one tiny streamed request, like real traffic. */
import type { AccountTest } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { Problem } from '../api/client.ts';
import { durationText } from '../format/time.ts';
import { operatorTexts } from './texts.ts';

/** Servers take up a new account or model within moments; until then it does not exist for them. */
const TRIES = 6;
const PAUSE_MS = 500;

/** What the test found, as one line. Throws with the message of the provider when it failed. */
export async function testAccount(id: string, body: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { ok, status, message, reason, first_byte_ms, duration_ms } = await patientTest(id, body);
  if (!ok)
    throw new Error(
      `${status ?? operatorTexts.account.noResponse}: ${message ?? reason ?? operatorTexts.account.noReason}`,
    );
  return operatorTexts.account.works(durationText(first_byte_ms), durationText(duration_ms));
}

async function patientTest(id: string, body: Readonly<Record<string, unknown>>): Promise<AccountTest> {
  for (let n = 1; ; n += 1) {
    try {
      return await admin.testAccount(id, body);
    } catch (error) {
      const isUnknown = error instanceof Problem && error.status === 404;
      if (!isUnknown || n === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
