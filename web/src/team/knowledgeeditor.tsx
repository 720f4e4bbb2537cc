import { useMemo, useState } from 'react';
import { request } from '../api/http';
import type { ID, KnowledgeItem, Team } from '../api/types';
import { CreateDialog } from '../components/create';
import { Field, Select, TextArea } from '../components/ui';

// Draft is an item as somebody writes it: a new one, or another wording of one that exists.
export interface Draft {
  id: ID | null; // null: a new one
  member: string; // of a new one: the slug of the agent that knows it; empty: the whole team
  text: string;
  kind: KnowledgeItem['kind'];
}

const KINDS: Record<Draft['kind'], string> = { fact: 'Fact', preference: 'Preference', procedure: 'Procedure' };

// KnowledgeEditor writes an item, or changes the words of one: whoever does so is its author.
export function KnowledgeEditor({ team, draft, onClose }: { team: Team; draft: Draft; onClose: () => void }) {
  const [text, setText] = useState(draft.text);
  const [kind, setKind] = useState(draft.kind);
  const [member, setMember] = useState(draft.member);
  const key = useMemo(() => `knowledge ${crypto.randomUUID()}`, [text, kind, member]); // the same item is made once
  const body = { text, kind };
  return (
    <CreateDialog
      open
      onClose={onClose}
      title={draft.id ? 'Edit an item' : 'Write an item'}
      about="The agent is told it from its next work on, as something that a person wrote."
      label="Save"
      ready={text.trim() !== ''}
      list="knowledge"
      create={() =>
        draft.id
          ? request<KnowledgeItem>(`/v1/knowledge/${draft.id}`, { method: 'PATCH', body })
          : request<KnowledgeItem>('/v1/knowledge', { key, body: { ...body, agent_id: member || team.slug, scope: member ? 'agent' : 'team' } })
      }
      onCreated={onClose}
    >
      {!draft.id && (
        <Field label="Who knows it">
          <Select value={member} onChange={(event) => setMember(event.target.value)}>
            <option value="">The whole team</option>
            {team.members.map((one) => (
              <option key={one.agent_id} value={one.slug}>
                Only {one.name}
              </option>
            ))}
          </Select>
        </Field>
      )}
      <Field label="Kind">
        <Select value={kind} onChange={(event) => setKind(event.target.value as Draft['kind'])}>
          {Object.entries(KINDS).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="What is known">
        <TextArea rows={4} value={text} onChange={(event) => setText(event.target.value)} required placeholder="Releases are cut on Tuesdays." />
      </Field>
    </CreateDialog>
  );
}
