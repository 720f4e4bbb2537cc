import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { agentOf, modelList, projectList } from '../api/queries';
import type { FieldSettings } from '../api/settings';
import type { Session } from '../api/types';
import { useOwns } from '../components/role';
import { PolicyFields } from '../components/policyfields';
import { fieldsOf, SettingFields, wrongIn } from '../components/settingfields';
import { Button, Dialog, Field, Input, Select } from '../components/ui';
import { Cost } from '../context/cost';

// SettingsDialog changes a conversation and how its next turns run.
export function SettingsDialog({ session, onClose, onChanged }: { session: Session; onClose: () => void; onChanged: (session: Session) => void }) {
  const { data: models } = useQuery(modelList());
  const { data: projects } = useQuery(projectList());
  const { data: agent } = useQuery(agentOf(session.agent_id));
  const [title, setTitle] = useState(session.title);
  const [model, setModel] = useState(session.model ?? '');
  const [fields, setFields] = useState(() => fieldsOf(session));
  const [policy, setPolicy] = useState(session.context_policy);
  const [project, setProject] = useState(session.project_id ?? '');
  const [tags, setTags] = useState(session.tags.join(', '));
  const [visibility, setVisibility] = useState(session.visibility);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const wrong = wrongIn(failure);
  const owns = useOwns(session.owner_id);
  const settings = {
    ...((model || null) !== session.model && { model: model || null }),
    ...Object.fromEntries(Object.entries(fields).filter(([name, value]) => session[name as keyof FieldSettings] !== value)),
    ...(JSON.stringify(policy) !== JSON.stringify(session.context_policy) && { context_policy: policy }),
  };
  const save = () => {
    setBusy(true);
    setFailure(null);
    const body = {
      title,
      tags: [...new Set(tags.split(',').map((tag) => tag.trim()).filter(Boolean))],
      ...(owns && {
        ...settings,
        project_id: project || null,
        visibility,
      }),
    };
    request<Session>(`/v1/sessions/${session.id}`, { method: 'PATCH', body })
      .then(
        (changed) => {
          onChanged(changed);
          onClose();
        },
        (failed: unknown) => setFailure(failed),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog open onClose={onClose} title="Conversation settings">
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Field label="Title">
          <Input value={title} maxLength={200} onChange={(event) => setTitle(event.target.value)} />
        </Field>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Model" hint="From the next turn on.">
            <Select value={model} disabled={!owns} onChange={(event) => setModel(event.target.value)}>
              <option value="">{agent?.model ?? models?.default ?? 'the agent’s'} (the agent’s)</option>
              {model && !models?.data.some((one) => one.id === model) && <option value={model}>{model}</option>}
              {models?.data.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.id}
                </option>
              ))}
            </Select>
          </Field>
          <Field label="Project">
            <Select value={project} disabled={!owns} onChange={(event) => setProject(event.target.value)}>
              <option value="">No project</option>
              {projects?.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </Select>
          </Field>
          <Field label="Visible to">
            <Select value={visibility} disabled={!owns} onChange={(event) => setVisibility(event.target.value as Session['visibility'])}>
              <option value="private">Me and admins</option>
              <option value="workspace">Everybody in the workspace</option>
            </Select>
          </Field>
        </div>
        <PolicyFields value={policy} wider={agent?.context_policy ?? null} fixed={!owns} wrong={wrong} onChange={setPolicy} />
        <div className="grid gap-4 sm:grid-cols-3">
          <SettingFields values={fields} wider={agent} fixed={!owns} wrong={wrong} onChange={(changed) => setFields({ ...fields, ...changed })} />
        </div>
        {!owns && <p className="text-sm text-soft">Only its owner and admins can change these. To use other settings, fork the conversation.</p>}
        <Field label="Tags" hint="Separated by commas.">
          <Input value={tags} onChange={(event) => setTags(event.target.value)} />
        </Field>
        {failure !== null && Object.keys(wrong).length === 0 && (
          <p role="alert" className="text-sm text-bad">
            {sentence(failure)}
          </p>
        )}
        <Cost session={session.id} change={Object.keys(settings).length > 0 ? { session: settings } : null} className="min-h-8 text-xs text-soft" />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={busy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
