import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { sentence } from '../api/http';
import { copyText } from './clipboard';
import { Button } from './ui';

const SAID_MS = 1_500;

// Secret shows a key, which is shown only once, with a button that copies it.
export function Secret({ text }: { text: string }) {
  const [said, setSaid] = useState('');
  const copy = () =>
    void copyText(text).then(
      () => {
        setSaid('Copied');
        setTimeout(() => setSaid(''), SAID_MS);
      },
      (failure: unknown) => setSaid(sentence(failure)),
    );
  return (
    <div className="mt-2 flex flex-wrap items-center gap-2">
      <code aria-label="The new key" className="min-w-0 flex-1 rounded bg-bg px-2 py-1 font-mono text-sm break-all select-all">
        {text}
      </code>
      <Button onClick={copy}>
        {said === 'Copied' ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />} Copy
      </Button>
      <span role="status" className="text-xs text-soft">
        {said}
      </span>
    </div>
  );
}
