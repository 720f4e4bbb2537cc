package imports

import (
	"encoding/json"

	"example.org/parley"
)

// The file chat.json of a planning agent: {"entries": [{role, content, timestamp, …}]}. The feature is a field, or the
// directory below .dagent-worktrees.

// chatType is the type of the sessions that chat.json becomes.
const chatType = "pm-feature"

func isChat(f *file) bool { return f.has("entries", '[') }

func readChat(f *file) ([]Session, error) {
	entries, err := f.list("entries")
	if err != nil {
		return nil, err
	}
	top := members{f, "", f.top}
	top.take("entries")
	s := Session{Type: chatType}
	if s.Feature, err = top.text("featureId", parley.MaxKeyBytes); err != nil {
		return nil, err
	}
	if s.Feature == "" {
		s.Feature = between(f.name, ".dagent-worktrees")
	}
	if err := s.readRest(f, "entries", entries, top); err != nil {
		return nil, err
	}
	s.Key, s.Identity = key(s.Type, s.Feature, ""), s.Feature
	return []Session{s}, nil
}

// readRest reads entries, when the session was created and updated, and what remains of its file.
func (s *Session) readRest(f *file, list string, entries []json.RawMessage, top members) error {
	created, err := top.time("createdAt", 0)
	if err != nil {
		return err
	}
	updated, err := top.time("updatedAt", 0)
	if err != nil {
		return err
	}
	if err := s.readEntries(f, list, entries, created); err != nil {
		return err
	}
	if err := s.keep(top); err != nil {
		return err
	}
	s.end(created, updated)
	return nil
}

// readEntries reads entries of {id?, role, content, timestamp, metadata?}.
func (s *Session) readEntries(f *file, list string, entries []json.RawMessage, last parley.Time) error {
	ids := map[string]bool{}
	for i, raw := range entries {
		m, err := f.members(at(list, i), raw)
		if err != nil {
			return err
		}
		entry := said{pointer: m.pointer}
		id, _ := decode[string](f, m.pointer+"/id", m.left["id"]) // a number is kept as metadata, too
		if err := f.once(ids, m.pointer+"/id", id); err != nil {
			return err
		}
		role, err := m.text("role", parley.MaxNameBytes)
		if err != nil {
			return err
		}
		if entry.role = parley.Role(role); entry.role != parley.RoleUser && entry.role != parley.RoleAssistant &&
			entry.role != parley.RoleSystem {
			return m.wrong(m.pointer+"/role", "%q is not one of user, assistant, system", parley.Clip(role, 32))
		}
		if entry.text, err = m.textOf("content"); err != nil {
			return err
		}
		if entry.at, err = m.time("timestamp", last); err != nil {
			return err
		}
		if entry.at == 0 {
			return m.wrong(m.pointer+"/timestamp", "is missing; give the time at which this was said")
		}
		last = entry.at
		if err := entry.readMetadata(m); err != nil {
			return err
		}
		if err := s.add(f, &entry); err != nil {
			return err
		}
	}
	return nil
}

// readMetadata reads {agentType, iteration, internal, tokens, toolUse, …}; the rest stays metadata, beside the entry's
// other fields.
func (e *said) readMetadata(m members) error {
	raw := m.take("metadata")
	if raw == nil {
		var err error
		e.beside, err = m.rest()
		return err
	}
	meta, err := m.members(m.pointer+"/metadata", raw)
	if err != nil {
		return err
	}
	if e.agent, err = meta.text("agentType", parley.MaxNameBytes); err != nil {
		return err
	}
	round, err := meta.count("iteration", maxIteration)
	if err != nil {
		return err
	}
	if round != nil {
		e.round = int(*round)
	}
	if e.hidden, err = decode[bool](m.file, meta.pointer+"/internal", meta.take("internal")); err != nil {
		return err
	}
	if err := e.readTokens(meta); err != nil {
		return err
	}
	if err := e.readToolUse(meta); err != nil {
		return err
	}
	for name, value := range meta.left {
		if _, taken := m.left[name]; taken {
			name = "metadata." + name
		}
		m.left[name] = value
	}
	e.beside, err = m.rest()
	return err
}

// maxIteration bounds the number of a loop's iteration.
const maxIteration = 1 << 30

func (e *said) readTokens(meta members) error {
	raw := meta.take("tokens")
	if raw == nil {
		return nil
	}
	tokens, err := meta.members(meta.pointer+"/tokens", raw)
	if err != nil {
		return err
	}
	var usage parley.Usage
	if usage.InputTokens, err = tokens.count("input", parley.MaxCallTokens); err != nil {
		return err
	}
	if usage.OutputTokens, err = tokens.count("output", parley.MaxCallTokens); err != nil {
		return err
	}
	if !usage.IsZero() {
		e.usage = &usage
	}
	return nil
}

func (e *said) readToolUse(meta members) error {
	raw := meta.take("toolUse")
	if raw == nil {
		return nil
	}
	use, err := meta.members(meta.pointer+"/toolUse", raw)
	if err != nil {
		return err
	}
	tool := toolUse{input: use.take("input"), result: use.take("result")}
	if tool.name, err = use.text("name", parley.MaxNameBytes); err != nil {
		return err
	}
	if tool.name == "" {
		return use.wrong(use.pointer+"/name", "is missing; name the tool")
	}
	e.tool = &tool
	return nil
}
