/**
 * A value that is shown only once. The dialog stays until the value was copied, or the person says that they have it.
 */
import { type ReactNode, useState } from 'react';
import { texts } from '../texts.ts';
import { Snippet } from './code.tsx';
import { Dialog } from './dialog.tsx';

interface OnceProps {
  readonly title: string;
  readonly warning: string;
  readonly value: string;
  readonly close: () => void;
  readonly children?: ReactNode;
}

export const Once = ({ title, warning, value, close, children }: OnceProps) => {
  const [isCopied, setCopied] = useState(false);
  return (
    <Dialog title={title} onClose={close} isKept={!isCopied}>
      <p className="notice" data-tone="warn">
        {warning}
      </p>
      <Snippet text={value} copied={() => setCopied(true)} />
      {children}
      <div className="ends">
        <button type="button" className={isCopied ? 'primary' : ''} onClick={close}>
          {isCopied ? texts.once.done : texts.once.saved}
        </button>
      </div>
    </Dialog>
  );
};
