import { Link } from '@tanstack/react-router';
import { FileUp } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { queries } from '../api/queries';
import type { Imported } from '../api/types';
import { upload } from '../chat/upload';
import { Button } from '../components/ui';

// LARGE is the size, in bytes, from which on a file is uploaded before it is imported.
const LARGE = 8 << 20;

interface Told {
  name: string;
  file: File;
  report?: Imported;
  problem?: string;
}

async function ask({ name, file }: Told, dry: boolean): Promise<Imported> {
  if (file.size <= LARGE) return request<Imported>('/v1/imports', { body: { name, text: await file.text(), dry_run: dry } });
  const own = `import ${Date.now()} ${Math.random()}.json`; // the same bytes may be a file already, which must stay
  const sent = await upload(file, own, () => {}).done;
  try {
    return await request<Imported>('/v1/imports', { body: { name, file_id: sent.id, dry_run: dry } });
  } finally {
    await request(`/v1/files/${sent.id}`, { method: 'DELETE' });
  }
}

// tell asks about files one by one: each is its own request, and a bad one stops no other.
async function tell(files: Told[], dry: boolean): Promise<Told[]> {
  const told: Told[] = [];
  for (const file of files) {
    try {
      told.push({ ...file, problem: undefined, report: await ask(file, dry) });
    } catch (error) {
      told.push({ ...file, report: undefined, problem: sentence(error) });
    }
  }
  return told;
}

export function ImportFiles() {
  const [files, setFiles] = useState<Told[]>([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const during = async (work: () => Promise<Told[]>) => {
    setBusy(true);
    setProblem('');
    try {
      setFiles(await work());
    } catch (error) {
      setProblem(sentence(error));
    } finally {
      setBusy(false);
    }
  };
  const choose = (chosen: FileList) =>
    during(async () => {
      const read = Array.from(chosen, (file) => ({ name: file.webkitRelativePath || file.name, file }));
      return tell(read, true);
    });
  const start = () =>
    during(async () => {
      const done = await tell(
        files.filter((file) => file.report?.dry_run),
        false,
      );
      void queries.invalidateQueries({ queryKey: ['sessions'] });
      return done;
    });
  const waiting = files.some((file) => file.report?.dry_run && file.report.sessions.some((session) => session.outcome === 'created'));
  return (
    <div className="space-y-5 text-sm">
      <p className="text-soft">Import conversations from a session’s export as JSON, a chat.json, or a task’s session.json. Nothing is stored before you have seen what would happen.</p>
      <label className="inline-flex cursor-pointer items-center gap-2 rounded-lg border border-line px-3 py-2 focus-within:outline-2">
        <FileUp size={16} aria-hidden /> Choose files to import
        <input type="file" multiple accept=".json,application/json" className="sr-only" disabled={busy} onChange={(event) => event.target.files && void choose(event.target.files)} />
      </label>
      {problem && (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
      {files.length > 0 && <Report files={files} />}
      {waiting && (
        <Button disabled={busy} onClick={() => void start()}>
          Import
        </Button>
      )}
    </div>
  );
}

function Report({ files }: { files: Told[] }) {
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="What the import does">
      <table className="w-full min-w-160 text-left">
        <thead className="border-b border-line text-xs text-faint">
          <tr>
            {['File', 'Conversation', 'Messages', 'What happens'].map((title) => (
              <th key={title} className="py-2 pr-4 font-medium">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line align-top">
          {files.map((file) => (
            <Rows key={file.name} file={file} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const OUTCOMES: Record<string, [string, string]> = { created: ['is imported', 'imported'], unchanged: ['imported before; stays as it is', 'imported before; unchanged'] };

function Rows({ file }: { file: Told }) {
  if (!file.report) {
    return (
      <tr>
        <td className="py-2 pr-4">{file.name}</td>
        <td colSpan={3} role="alert" className="py-2 text-bad">
          {file.problem}
        </td>
      </tr>
    );
  }
  const { dry_run: dry, sessions } = file.report;
  return sessions.map((session, i) => (
    <tr key={i}>
      <td className="py-2 pr-4">{file.name}</td>
      <td className="py-2 pr-4">
        {session.session_id ? (
          <Link to="/c/$id" params={{ id: session.session_id }} className="underline">
            {session.title}
          </Link>
        ) : (
          session.title
        )}
      </td>
      <td className="py-2 pr-4">{session.messages}</td>
      <td className="py-2">
        {OUTCOMES[session.outcome]?.[dry ? 0 : 1] ?? session.outcome}
        {session.left.map((left) => (
          <span key={left.pointer + left.text} className="block text-xs text-faint">
            {left.pointer} {left.text}
          </span>
        ))}
      </td>
    </tr>
  ));
}
