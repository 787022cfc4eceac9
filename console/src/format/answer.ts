/** Yes and no in the language of the reader. */
import { t } from '../language.ts';

export const yesOrNo = (answer: boolean): string => (answer ? t('yes') : t('no'));
