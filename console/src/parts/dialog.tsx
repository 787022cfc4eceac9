/** Dialogs on the native element, which brings focus, Escape and the backdrop. */
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { t } from '../language.ts';

interface DialogProps {
  readonly title: string;
  readonly lead?: ReactNode;
  /** `palette`: the title is only spoken. */
  readonly className?: 'palette' | 'wide';
  readonly onClose: () => void;
  /** Escape does not close it. */
  readonly isKept?: boolean;
  /** Nothing is sent: a button closes it. */
  readonly isRead?: boolean;
  readonly children: ReactNode;
}

/**
 * Open while it is rendered, outside of the table or text that opens it, whose style it must not get. A dialog that is
 * removed does not return the focus by itself, as one that is closed does.
 */
export const Dialog = ({ title, lead, className, onClose, isKept = false, isRead = false, children }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      const isThere = opener instanceof HTMLElement && opener.isConnected;
      (isThere ? opener : document.getElementById('content'))?.focus();
    };
  }, []);
  return createPortal(
    <dialog
      ref={element}
      className={className}
      aria-label={title}
      // Chromium ignores the second prevented cancel event, but not a prevented key.
      onKeyDown={(event) => isKept && event.key === 'Escape' && event.preventDefault()}
      onCancel={(event) => isKept && event.preventDefault()}
      onClose={onClose}
    >
      <div className="inside">
        {className !== 'palette' && <h2>{title}</h2>}
        {lead && <p className="muted">{lead}</p>}
        {children}
        {isRead && (
          <div className="ends">
            <button type="button" onClick={onClose}>
              {t('Close')}
            </button>
          </div>
        )}
      </div>
    </dialog>,
    document.body,
  );
};

interface OpenerProps {
  /** A text is a label of the console, never data. */
  readonly label: ReactNode;
  readonly className?: string;
  readonly isDisabled?: boolean;
  readonly children: (close: () => void) => ReactNode;
}

/** A button and the dialog that it opens. */
export const Opener = ({ label, className, isDisabled = false, children }: OpenerProps) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} disabled={isDisabled} onClick={() => setOpen(true)}>
        {typeof label === 'string' ? t(label) : label}
      </button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
};
